//! Standard streams that are closed, full or broken: no panic, no lost exit code.

#![allow(clippy::disallowed_methods, reason = "opens devices")]

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Command;
use std::process::Stdio;

fn mlrun(code: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mlrun"));
    command.args(["eval", code]).env("NO_COLOR", "1").env_remove("FORCE_COLOR");
    command
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_program() {
    let code = "for (let i = 0; i < 20000; i++) console.log('line', i);\n\
                process.stdout.write('x'.repeat(1 << 20));\n\
                console.error('finished'); process.exitCode = 4;";
    let mut child =
        mlrun(code).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut first = [0; 6];
    child.stdout.take().expect("pipe").read_exact(&mut first).expect("first line");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(&first, b"line 0");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "finished\n");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn a_full_disk_is_an_error_of_the_program() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = mlrun("console.log('text')").stdout(full).output().expect("ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("stdout: write failed"), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn errors_survive_a_broken_standard_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = mlrun("throw new Error('unseen')").stderr(full).output().expect("ends");
    assert_eq!(output.status.code(), Some(1));
    let closed = Command::new("sh")
        .args(["-c", "exec \"$0\" eval 'console.log(1); console.error(2); throw 3' >&- 2>&-"])
        .arg(env!("CARGO_BIN_EXE_mlrun"))
        .status()
        .expect("ends");
    assert_eq!(closed.code(), Some(1));
}
