//! Ops that write into a tensor's own bytes.
//!
//! Invariant: everything that can refuse the call does so before the first byte is written. What is
//! recorded, and what that means for other handles on the bytes, is the tape's.

use super::{Arg, Engine, common_dtype, common_shape, replaced};
use crate::attr::{Attr, Attrs};
use crate::backend::{Input, KernelId, View};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::show;
use crate::table::{Kind, OUT, Op, Outputs, Rule, input};
use crate::tape;
use crate::tensor::Tensor;
use smallvec::smallvec;

/// The name under which a program calls the in-place form of a row.
pub fn in_place_name(op: Op) -> &'static str {
    match op {
        Op::Add => "add_",
        Op::Sub => "sub_",
        Op::Mul => "mul_",
        Op::Div => "div_",
        op => op.name(),
    }
}

impl Engine {
    /// Runs an elementwise op with `dst`'s own bytes as output. `args[0]` is `dst`, whose way back
    /// to the tape is that of its base from then on.
    pub fn call_in_place(&self, op: Op, dst: &Tensor, args: &[Arg], attrs: &Attrs) -> Result<()> {
        let run = || -> Result<()> {
            refuse_overlap(dst)?;
            let recorded = tape::records_in_place(self, dst, args)?;
            let dtype = match op.def().rule {
                Rule::Binary(Kind::Float) => common_dtype(args)?.to_float(),
                _ => common_dtype(args)?,
            };
            if dtype != dst.dtype {
                return Err(Error::dtype(format!(
                    "the result is {dtype} and cannot be stored in place in a tensor of {}",
                    dst.dtype
                )));
            }
            let shape = common_shape(args)?;
            if shape != dst.layout.shape {
                return Err(Error::shape(format!(
                    "the result has shape {}, expected {} as the op is in place",
                    show(&shape),
                    show(dst.shape())
                )));
            }
            let mut converted = self.convert(args, dtype, 0)?;
            converted.resize(args.len(), None);
            // What the tape will read must be what the op read.
            let read = if recorded { tape::reads(op, args) } else { 0 };
            for (i, (slot, a)) in converted.iter_mut().zip(args).enumerate() {
                if let (None, Arg::Tensor(t)) = (&slot, a)
                    && t.storage.same(&dst.storage)
                    && ((i > 0 && t.layout != dst.layout) || read & input(i as u32) != 0)
                {
                    *slot = Some(self.copy_of(t)?);
                }
            }
            let args = replaced(args, &converted);
            if read & OUT != 0 {
                // The derivative reads the result, which must outlive a later change of `dst`.
                let result =
                    self.call1(op, &args, attrs).map_err(|e| e.of_op(in_place_name(op)))?;
                return self.copy_into(dst, &result);
            }
            self.refuse_integers(op, dtype, &args, &shape)?;
            let outputs: Outputs = smallvec![dst.clone()];
            self.run_broadcast(KernelId::Forward(op), dtype, &args, &outputs, attrs)?;
            dst.storage.bump_version();
            if recorded {
                tape::record_in_place(self, op, &args, attrs, dst);
            }
            Ok(())
        };
        run().map_err(|e| e.in_op(in_place_name(op)))
    }

    /// Adds rows of `source` to those of `dst` along `dim`, or replaces them, as `op` says.
    pub(crate) fn rows_into(
        &self,
        op: Op,
        dst: &Tensor,
        index: &Tensor,
        source: &Tensor,
        dim: usize,
    ) -> Result<()> {
        let apart = source.storage.same(&dst.storage).then(|| self.copy_of(source)).transpose()?;
        let source = apart.as_ref().unwrap_or(source);
        let args = [Arg::Tensor(dst), Arg::Tensor(index), Arg::Tensor(source)];
        let recorded = tape::records_in_place(self, dst, &args)?;
        let attrs: Attrs = smallvec![Attr::Int(dim as i64)];
        let inputs = [dst, index, source].map(super::input);
        let to = std::slice::from_ref(dst);
        self.run(KernelId::Forward(op), dst.dtype, &inputs, to, &attrs)?;
        dst.storage.bump_version();
        if recorded {
            tape::record_in_place(self, op, &args, &attrs, dst);
        }
        Ok(())
    }

    /// Zeros of `shape` and, by `op` (`indexAdd` or `scatterAdd`), `source` added where `index` says
    /// along `dim`: the derivative of what reads elements from there.
    pub(crate) fn added_to_zeros(
        &self,
        op: Op,
        shape: &[usize],
        index: &Tensor,
        source: &Tensor,
        dim: i64,
    ) -> Result<Tensor> {
        let zeros = self.full(shape, 0.0, source.dtype)?;
        let attrs: Attrs = smallvec![Attr::Int(dim)];
        if self.grad_enabled() {
            let args = [Arg::Tensor(&zeros), Arg::Tensor(index), Arg::Tensor(source)];
            return self.call1(op, &args, &attrs);
        }
        // Nobody else has the zeros yet: a sum in other bytes would double the memory.
        let index = self.as_dtype(index, DType::I64)?;
        let inputs = [&zeros, &index, source].map(super::input);
        self.run(
            KernelId::Forward(op),
            zeros.dtype,
            &inputs,
            std::slice::from_ref(&zeros),
            &attrs,
        )?;
        Ok(zeros)
    }

    /// The values of `t` in other bytes, with its way back to the tape.
    fn copy_of(&self, t: &Tensor) -> Result<Tensor> {
        let _mode = self.grad_mode(false);
        Ok(Tensor { edge: t.edge.clone(), ..self.clone_tensor(t)? })
    }

    /// Writes `src`, broadcast and converted, into `dst`'s bytes, and records it as
    /// [`Engine::call_in_place`] does.
    pub fn copy_into(&self, dst: &Tensor, src: &Tensor) -> Result<()> {
        let run = || -> Result<()> {
            refuse_overlap(dst)?;
            let recorded =
                tape::records_in_place(self, dst, &[Arg::Tensor(dst), Arg::Tensor(src)])?;
            let same = src.storage.same(&dst.storage);
            let src =
                if same && src.layout != dst.layout { self.copy_of(src)? } else { src.clone() };
            let layout = src.layout.broadcast_to(dst.shape())?;
            let from = View { storage: &src.storage, layout: &layout, dtype: src.dtype };
            let to = std::slice::from_ref(dst);
            // Before anything is written: what is recorded may fail.
            let src_like = if recorded && src.requires_grad() {
                let src = self.as_dtype(&src, dst.dtype)?;
                Some(self.expand(&src, dst.shape())?)
            } else {
                None
            };
            self.run(KernelId::Forward(Op::Copy), dst.dtype, &[Input::View(from)], to, &[])?;
            dst.storage.bump_version();
            if recorded {
                tape::record_overwrite(self, src_like.as_ref(), dst);
            }
            Ok(())
        };
        run().map_err(|e| e.in_op("copy_"))
    }
}

/// An expanded tensor has several elements in one place, so that none can be written.
pub(crate) fn refuse_overlap(dst: &Tensor) -> Result<()> {
    if dst.layout.overlaps() {
        return Err(Error::shape(format!(
            "several elements of the tensor of shape {} share one place, as after expand; clone() \
             it first",
            show(dst.shape())
        )));
    }
    Ok(())
}
