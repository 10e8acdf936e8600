//! A hunt for leaks: each example, at small scale, 3 + 3 times in one process. The second three may
//! leave nothing that the first three did not: tensors by the line that made them, bytes and pools of
//! the process, threads.

use std::path::Path;
use std::process::{Command, Stdio};

use mlrun::{CacheDir, Runtime, RuntimeOptions, process_memory};

/// Arguments of each example. What `mnist-cnn.js` and `minilm.js` have from packages is made up here
/// (their specs run them with the packages).
const EXAMPLES: &[(&str, &str)] = &[
    ("digits.js", ""),
    (
        "char-gpt.js",
        "--steps 4 --layers 1 --width 16 --heads 2 --context 16 --batch 4 --warmup 2 --every 2 --out run --length 10",
    ),
    (
        "lora.js",
        "--from run --steps 3 --rank 2 --length 10 --layers 1 --width 16 --heads 2 --context 16 --batch 4",
    ),
    ("lstm.js", "--steps 4 --every 2 --hidden 16 --batch 8 --window 8 --length 10"),
    ("vae.js", "--epochs 2"),
    ("dqn.js", "--episodes 10 --batch 16 --hidden 16"),
    ("mnist-cnn.js", "--data mnist --epochs 1 --train 60 --test 20 --batch 16"),
    ("minilm.js", "--model minilm"),
];

/// Digits of noise, and a small model with random embeddings, in the current folder.
fn write_data() {
    std::fs::create_dir_all("mnist").expect("a folder");
    for digit in 0..10 {
        let pixels: Vec<String> =
            (0..8 * 784).map(|i| format!("0.{}", (i * 7 + digit) % 10)).collect();
        let text = format!("{{ \"data\": [{}] }}", pixels.join(","));
        std::fs::write(format!("mnist/{digit}.json"), text).expect("a file");
    }
    std::fs::create_dir_all("minilm").expect("a folder");
    let config = r#"{ "vocab_size": 40, "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_size": 16,
        "layer_norm_eps": 1e-12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32 }"#;
    std::fs::write("minilm/config.json", config).expect("a file");
    let letters = ('a'..='z').map(String::from);
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(str::to_owned);
    let vocabulary: Vec<String> = special.into_iter().chain(letters).collect();
    std::fs::write("minilm/vocab.txt", vocabulary.join("\n")).expect("a file");
    let mut runtime =
        Runtime::new(RuntimeOptions { cache: CacheDir::Off, ..RuntimeOptions::default() })
            .expect("a runtime");
    runtime
        .eval(
            "import { io, randn } from 'mlrun';
             io.saveSafetensors('minilm/model.safetensors', {
                 'embeddings.word_embeddings.weight': randn([40, 16]),
             });",
        )
        .expect("writes the weights");
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux tells").count()
}

/// What a run of an example leaves alive, as lines "COUNT of BYTES at PLACE".
fn run(example: &Path, arguments: &[String]) -> Vec<String> {
    let mut runtime = Runtime::new(RuntimeOptions {
        cache: CacheDir::Off,
        threads: std::num::NonZeroUsize::new(1),
        seed: Some(1),
        trace_memory: true,
        ..RuntimeOptions::default()
    })
    .expect("a runtime");
    let ran = runtime.run_main(example, arguments);
    let exit = ran.unwrap_or_else(|e| panic!("{}: {e}", example.display()));
    assert_eq!(exit.code, 0, "{}", example.display());
    let alive = runtime.alive();
    assert_eq!(runtime.end(), 0, "{}: bytes outlive their runtime", example.display());
    let place = |a: &mlrun::Alive| a.place.as_ref().map_or("the library".to_owned(), |p| p.short());
    alive.iter().map(|a| format!("{} of {} bytes at {}", a.tensors, a.bytes, place(a))).collect()
}

/// Lines that one of the later runs has and none of the first.
fn new_lines(first: &[Vec<String>], later: &[Vec<String>]) -> Vec<String> {
    let known = |line: &String| first.iter().any(|lines| lines.contains(line));
    later.iter().flatten().filter(|line| !known(line)).cloned().collect()
}

/// Set in the process that runs the examples: they print much, and write where it runs.
const HERE: &str = "MLRUN_TEST_EXAMPLES_HERE";

#[test]
fn each_example_runs_again_and_again_and_leaves_nothing() {
    if std::env::var_os(HERE).is_some() {
        return hunt();
    }
    let folder = std::env::temp_dir().join(format!("mlrun-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let ran = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "each_example_runs_again_and_again_and_leaves_nothing", "--nocapture"])
        .env(HERE, "1")
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .expect("starts");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn hunt() {
    write_data();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut wrong = Vec::new();
    for (name, arguments) in EXAMPLES {
        let example = root.join("examples").join(name);
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let three = || -> Vec<Vec<String>> { (0..3).map(|_| run(&example, &arguments)).collect() };
        let first = three();
        let threads_before = threads();
        let later = three();
        for line in new_lines(&first, &later) {
            wrong.push(format!("{name}: {line}"));
        }
        if threads() > threads_before {
            wrong.push(format!("{name}: {} threads more", threads() - threads_before));
        }
        let left = process_memory();
        if left.live + left.pooled + left.isolates > 0 {
            wrong.push(format!("{name}: {left:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_hunt_notices_a_line_that_leaks() {
    let lines = |n: u32| vec![format!("{n} of 8 bytes at a.js:1:2")];
    assert!(new_lines(&[lines(1)], &[lines(1)]).is_empty());
    assert_eq!(new_lines(&[lines(1)], &[lines(2)]), lines(2));
}
