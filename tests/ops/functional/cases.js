// The calls whose values are in cases.json, in the same order.
import { nn, stack } from "mlrun";

const F = nn.functional;

export const calls = [
  // ce idx none
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'none',ignoreIndex:2,labelSmoothing:0.1}),
  // ce prob none
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'none',labelSmoothing:0.2}),
  // ce nd none
  (x,t) => F.crossEntropy(x,t,{reduction:'none'}),
  // nll none
  (x,t,w) => F.nllLoss(x,t,{weight:w,reduction:'none',ignoreIndex:1}),
  // bce none
  (x,z,w,p) => F.bceWithLogits(x.mul(20),z,{weight:w,posWeight:p,reduction:'none'}),
  // smoothl1 none
  (a,b) => F.smoothL1Loss(a,b,{reduction:'none',beta:0.7}),
  // l1 none
  (a,b) => F.l1Loss(a,b,{reduction:'none'}),
  // mse none
  (a,b) => F.mseLoss(a,b,{reduction:'none'}),
  // ce idx mean
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'mean',ignoreIndex:2,labelSmoothing:0.1}),
  // ce prob mean
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'mean',labelSmoothing:0.2}),
  // ce nd mean
  (x,t) => F.crossEntropy(x,t,{reduction:'mean'}),
  // nll mean
  (x,t,w) => F.nllLoss(x,t,{weight:w,reduction:'mean',ignoreIndex:1}),
  // bce mean
  (x,z,w,p) => F.bceWithLogits(x.mul(20),z,{weight:w,posWeight:p,reduction:'mean'}),
  // smoothl1 mean
  (a,b) => F.smoothL1Loss(a,b,{reduction:'mean',beta:0.7}),
  // l1 mean
  (a,b) => F.l1Loss(a,b,{reduction:'mean'}),
  // mse mean
  (a,b) => F.mseLoss(a,b,{reduction:'mean'}),
  // ce idx sum
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'sum',ignoreIndex:2,labelSmoothing:0.1}),
  // ce prob sum
  (x,t,w) => F.crossEntropy(x,t,{weight:w,reduction:'sum',labelSmoothing:0.2}),
  // ce nd sum
  (x,t) => F.crossEntropy(x,t,{reduction:'sum'}),
  // nll sum
  (x,t,w) => F.nllLoss(x,t,{weight:w,reduction:'sum',ignoreIndex:1}),
  // bce sum
  (x,z,w,p) => F.bceWithLogits(x.mul(20),z,{weight:w,posWeight:p,reduction:'sum'}),
  // smoothl1 sum
  (a,b) => F.smoothL1Loss(a,b,{reduction:'sum',beta:0.7}),
  // l1 sum
  (a,b) => F.l1Loss(a,b,{reduction:'sum'}),
  // mse sum
  (a,b) => F.mseLoss(a,b,{reduction:'sum'}),
  // smoothl1 beta0
  (a,b) => F.smoothL1Loss(a,b,{beta:0}),
  // ce 1d
  (x,t) => F.crossEntropy(x,t),
  // ce all ignored
  (x,t) => F.crossEntropy(x,t,{ignoreIndex:0}),
  // layerNorm
  (x,w,b) => F.layerNorm(x,[3,5],w,b,1e-4),
  // layerNorm plain
  x => F.layerNorm(x,[5]),
  // layerNorm bias only
  (x,b) => F.layerNorm(x,[5],null,b),
  // layerNorm T
  (x,w) => F.layerNorm(x.T,[4],w),
  // rmsNorm
  (x,w) => F.rmsNorm(x,[5],w,1e-3),
  // rmsNorm eps
  x => F.rmsNorm(x,[5]),
  // groupNorm
  (x,w,b) => F.groupNorm(x,2,w,b),
  // batchNorm train
  (x,w,b) => F.batchNorm(x,null,null,w,b,{training:true}),
  // batchNorm 2d
  x => F.batchNorm(x,null,null,null,null,{training:true}),
  // batchNorm eval
  (x,m,v,w,b) => F.batchNorm(x,m,v,w,b),
  // batchNorm running
  (x,m,v) => {F.batchNorm(x,m,v,null,null,{training:true,momentum:0.3});return stack([m,v])},
  // embedding pad
  (i,w) => F.embedding(i,w,{paddingIdx:2}),
  // embedding neg pad
  (i,w) => F.embedding(i,w,{paddingIdx:-1}),
  // oneHot
  i => F.oneHot(i),
  // conv2d 1 0 1 1
  (x,w,b) => F.conv2d(x,w,b,{stride:1,padding:0,dilation:1,groups:1}),
  // convT2d 1 0 1 1
  (x,w,b) => F.convTranspose2d(x,w,b,{stride:1,padding:0,dilation:1,groups:1}),
  // conv2d 2 1 1 1
  (x,w,b) => F.conv2d(x,w,b,{stride:2,padding:1,dilation:1,groups:1}),
  // convT2d 2 1 1 1
  (x,w,b) => F.convTranspose2d(x,w,b,{stride:2,padding:1,dilation:1,groups:1}),
  // conv2d 1 2 2 1
  (x,w,b) => F.conv2d(x,w,b,{stride:1,padding:2,dilation:2,groups:1}),
  // convT2d 1 2 2 1
  (x,w,b) => F.convTranspose2d(x,w,b,{stride:1,padding:2,dilation:2,groups:1}),
  // conv2d 3 1 1 2
  (x,w,b) => F.conv2d(x,w,b,{stride:3,padding:1,dilation:1,groups:2}),
  // convT2d 3 1 1 2
  (x,w,b) => F.convTranspose2d(x,w,b,{stride:3,padding:1,dilation:1,groups:2}),
  // conv2d (2, 1) (1, 0) (1, 2) 1
  (x,w,b) => F.conv2d(x,w,b,{stride:[2, 1],padding:[1, 0],dilation:[1, 2],groups:1}),
  // convT2d (2, 1) (1, 0) (1, 2) 1
  (x,w,b) => F.convTranspose2d(x,w,b,{stride:[2, 1],padding:[1, 0],dilation:[1, 2],groups:1}),
  // convT2d outputPadding
  (x,w) => F.convTranspose2d(x,w,null,{stride:3,padding:1,outputPadding:[1,2]}),
  // convT1d
  (x,w,b) => F.convTranspose1d(x,w,b,{stride:2,padding:1,outputPadding:1}),
  // conv2d same 2
  (x,w) => F.conv2d(x,w,null,{padding:'same',dilation:[1,2]}),
  // conv1d same 2
  (x,w,b) => F.conv1d(x,w,b,{padding:'same'}),
  // conv2d same 3
  (x,w) => F.conv2d(x,w,null,{padding:'same',dilation:[1,2]}),
  // conv1d same 3
  (x,w,b) => F.conv1d(x,w,b,{padding:'same'}),
  // conv2d same 4
  (x,w) => F.conv2d(x,w,null,{padding:'same',dilation:[1,2]}),
  // conv1d same 4
  (x,w,b) => F.conv1d(x,w,b,{padding:'same'}),
  // conv1d unbatched
  (x,w) => F.conv1d(x,w,null,{stride:2}),
  // conv2d unbatched
  (x,w) => F.conv2d(x,w,null,{padding:'valid'}),
  // conv2d pointwise
  (x,w,b) => F.conv2d(x,w,b),
  // conv2d depthwise T
  (x,w) => F.conv2d(x.transpose(2,3),w,null,{groups:4,padding:1}),
  // conv2d empty batch
  (x,w) => F.conv2d(x,w),
  // max 2 None 0 1 0
  x => F.maxPool2d(x,2,{padding:0,dilation:1,ceilMode:false}),
  // avg 2 None 0 0 True
  x => F.avgPool2d(x,2,{padding:0,ceilMode:false,countIncludePad:true}),
  // avg 2 None 0 0 False
  x => F.avgPool2d(x,2,{padding:0,ceilMode:false,countIncludePad:false}),
  // max 3 2 1 1 0
  x => F.maxPool2d(x,3,{stride:2,padding:1,dilation:1,ceilMode:false}),
  // avg 3 2 1 0 True
  x => F.avgPool2d(x,3,{stride:2,padding:1,ceilMode:false,countIncludePad:true}),
  // avg 3 2 1 0 False
  x => F.avgPool2d(x,3,{stride:2,padding:1,ceilMode:false,countIncludePad:false}),
  // max 3 2 1 1 1
  x => F.maxPool2d(x,3,{stride:2,padding:1,dilation:1,ceilMode:true}),
  // avg 3 2 1 1 True
  x => F.avgPool2d(x,3,{stride:2,padding:1,ceilMode:true,countIncludePad:true}),
  // avg 3 2 1 1 False
  x => F.avgPool2d(x,3,{stride:2,padding:1,ceilMode:true,countIncludePad:false}),
  // max (2, 3) (1, 2) (1, 1) 1 1
  x => F.maxPool2d(x,[2, 3],{stride:[1, 2],padding:[1, 1],dilation:1,ceilMode:true}),
  // avg (2, 3) (1, 2) (1, 1) 1 True
  x => F.avgPool2d(x,[2, 3],{stride:[1, 2],padding:[1, 1],ceilMode:true,countIncludePad:true}),
  // avg (2, 3) (1, 2) (1, 1) 1 False
  x => F.avgPool2d(x,[2, 3],{stride:[1, 2],padding:[1, 1],ceilMode:true,countIncludePad:false}),
  // max 2 2 0 2 1
  x => F.maxPool2d(x,2,{stride:2,padding:0,dilation:2,ceilMode:true}),
  // max 3 3 1 1 1
  x => F.maxPool2d(x,3,{stride:3,padding:1,dilation:1,ceilMode:true}),
  // avg 3 3 1 1 True
  x => F.avgPool2d(x,3,{stride:3,padding:1,ceilMode:true,countIncludePad:true}),
  // avg 3 3 1 1 False
  x => F.avgPool2d(x,3,{stride:3,padding:1,ceilMode:true,countIncludePad:false}),
  // avg divisor
  x => F.avgPool2d(x,3,{stride:2,padding:1,divisorOverride:5}),
  // max nan
  x => F.maxPool2d(x,2),
  // sdpa2 False
  (q,k,v) => F.scaledDotProductAttention(q,k,v,{isCausal:false,scale:0.3}),
  // sdpa2 True
  (q,k,v) => F.scaledDotProductAttention(q,k,v,{isCausal:true,scale:0.3}),
  // sdpa bool mask
  (q,k,v,m) => F.scaledDotProductAttention(q,k,v,{attnMask:m}),
  // sdpa float mask
  (q,k,v,m) => F.scaledDotProductAttention(q,k,v,{attnMask:m}),
  // sdpa mask grad
  (q,k,v,m) => F.scaledDotProductAttention(q,k,v,{attnMask:m}),
  // sdpa T
  (q,k,v) => F.scaledDotProductAttention(q.transpose(1,2),k.transpose(1,2),v.transpose(1,2)),
  // sdpa bcast
  (q,k,v) => F.scaledDotProductAttention(q,k,v),
  // pad const
  x => F.pad(x,[1,2,-1,3],{value:1.5}),
  // pad crop
  x => F.pad(x,[-1,-2]),
  // pad reflect
  x => F.pad(x,[2,3,1,2],{mode:'reflect'}),
  // pad replicate
  x => F.pad(x,[2,3,1,2],{mode:'replicate'}),
  // pad circular
  x => F.pad(x,[2,3,1,2],{mode:'circular'}),
  // interp nearest size:[5,3] None
  x => F.interpolate(x,{size:[5,3],mode:'nearest'}),
  // interp nearest scaleFactor:2 None
  x => F.interpolate(x,{scaleFactor:2,mode:'nearest'}),
  // interp nearest scaleFactor:[0.6,1.7] None
  x => F.interpolate(x,{scaleFactor:[0.6,1.7],mode:'nearest'}),
  // interp bilinear size:[5,3] False
  x => F.interpolate(x,{size:[5,3],mode:'bilinear',alignCorners:false}),
  // interp bilinear size:[5,3] True
  x => F.interpolate(x,{size:[5,3],mode:'bilinear',alignCorners:true}),
  // interp bilinear scaleFactor:2 False
  x => F.interpolate(x,{scaleFactor:2,mode:'bilinear',alignCorners:false}),
  // interp bilinear scaleFactor:2 True
  x => F.interpolate(x,{scaleFactor:2,mode:'bilinear',alignCorners:true}),
  // interp bilinear scaleFactor:[0.6,1.7] False
  x => F.interpolate(x,{scaleFactor:[0.6,1.7],mode:'bilinear',alignCorners:false}),
  // interp bilinear scaleFactor:[0.6,1.7] True
  x => F.interpolate(x,{scaleFactor:[0.6,1.7],mode:'bilinear',alignCorners:true}),
  // interp linear
  x => F.interpolate(x,{size:7,mode:'linear'}),
  // silu0
  x => F.silu(x),
  // softmax mid
  x => F.softmax(x,1),
  // logsoftmax mid
  x => F.logSoftmax(x,-2),
  // softmax 0d
  x => F.softmax(x,0),
];
