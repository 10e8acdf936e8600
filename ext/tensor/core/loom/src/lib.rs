//! The core's own sources, with loom's atomics and locks for the standard library's.

#![allow(dead_code, unused_imports, reason = "parts of a crate")]

#[path = "../../src/account.rs"]
pub mod account;
#[path = "../../src/error.rs"]
pub mod error;
#[path = "../../src/fault.rs"]
pub mod fault;
#[path = "../../src/pool.rs"]
pub mod pool;
#[path = "../../src/sites.rs"]
pub mod sites;
#[path = "../../src/storage.rs"]
pub mod storage;
mod sync;
#[path = "../../src/system.rs"]
mod system;
