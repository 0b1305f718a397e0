# What KernSmooth and ksmooth need for the same fits on sorted samples; prints "n method seconds error" per line.
suppressPackageStartupMessages(library(KernSmooth))
h <- 0.2
directory <- commandArgs(TRUE)[1]
for (n in c(1000, 10000, 100000, 1000000)) {
  samples <- read.csv(file.path(directory, sprintf("%d.csv", n)))
  truth <- read.csv(file.path(directory, sprintf("%d_fit.csv", n)))$f
  runs <- if (n < 1e5) 40 else 5
  seconds <- min(replicate(5, system.time(for (i in 1:runs) fit <<- locpoly(samples$x, samples$y, degree = 0, bandwidth = h, gridsize = 1000))[3] / runs))
  cat(n, "locpoly", seconds, max(abs(fit$y - truth)), "\n")
}
