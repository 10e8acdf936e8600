//! Every interleaving of two threads: counts are exact, each block goes back once, nothing leaks
//! (loom finds an `Arc` that is left).

use loom::sync::Arc;
use loom::thread;
use mlrun_tensor_core_loom::pool::HostPool;
use mlrun_tensor_core_loom::storage::Storage;

fn storage(pool: &HostPool) -> Storage {
    Storage::new(pool, 64).expect("there is memory")
}

#[test]
fn the_last_release_frees_at_once_on_whichever_thread() {
    loom::model(|| {
        let pool = Arc::new(HostPool::new());
        let mine = storage(&pool);
        let theirs = mine.clone();
        let other = thread::spawn(move || drop(theirs));
        drop(mine);
        other.join().expect("no panic");
        assert_eq!((pool.account.live(), pool.account.pooled()), (0, 64));
    });
}

#[test]
fn the_owner_takes_while_another_thread_gives() {
    loom::model(|| {
        let pool = Arc::new(HostPool::new());
        let theirs = storage(&pool);
        let other = thread::spawn(move || drop(theirs));
        let mine = storage(&pool);
        other.join().expect("no panic");
        assert_eq!(pool.account.live(), 64);
        drop(mine);
        assert_eq!(pool.account.live(), 0);
        // One block that was used twice, or two.
        assert!([64, 128].contains(&pool.account.pooled()));
        pool.trim();
        assert_eq!(pool.account.pooled(), 0);
    });
}

#[test]
fn a_pool_ends_while_another_thread_gives() {
    // All interleavings of this one take hours; these, seconds.
    let mut some = loom::model::Builder::new();
    some.preemption_bound = Some(3);
    some.check(|| {
        let pool = HostPool::new();
        let theirs = storage(&pool);
        let other = thread::spawn(move || drop(theirs));
        drop(pool);
        other.join().expect("no panic");
    });
}

#[test]
fn samples_end_with_their_blocks() {
    loom::model(|| {
        let pool = Arc::new(HostPool::new());
        pool.account.sample_all();
        let theirs = storage(&pool);
        let other = thread::spawn(move || drop(theirs));
        pool.sites.settle(1);
        other.join().expect("no panic");
        assert!(pool.sites.held().iter().all(|held| held.bytes == 0 && held.blocks == 0));
    });
}
