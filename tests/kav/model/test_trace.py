from tests.kav.model_factory import some_ids, tiny_model

import kav.model.trace as t
import numpy as np
from kav.model.edits import *
from kav.model.forward import suffix

def test_quick(xp):
    m=tiny_model(xp); toks=m.tokens(some_ids(9))
    a=t.run(m,toks); ref=t.run(tiny_model(),toks)
    np.testing.assert_allclose(a.logits(),ref.logits(),atol=1e-4)
    e=(ScaleHead(0,1,0.0,"mean"),ScaleMlp(1,0.5,"resample",(2,)),MaskKeys(0,2,(0,)),SetScore(1,0,4,2,1.0),SetTemperature(1,1,0.),MoveQuery(1,2,-1,3,.5),ScaleEdge(0,3,1,2.))
    b=t.run(m,toks,e,base=a); c=t.run(m,toks,e)
    np.testing.assert_allclose(b.logits(),c.logits(),atol=1e-4)
    s=suffix(m, xp.put(np.stack([a.resid(1)]*2)),1,positions=(-1,))
    np.testing.assert_allclose(xp.get(m.unembed(s))[0,0],a.logits(-1),atol=1e-4)
    a.pattern(0,1); b.scores(0,1,slice(2,4)); b.head_output(1,1); a.log_probs(-1)
