//! The program that `release/pack` calls: it writes images, and prints the provenance's predicate and the formula.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is what it is for"
)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use solar_release::formula::{Archive, formula};
use solar_release::image::{self, Image};
use solar_release::layout;
use solar_release::provenance::{Build, PREDICATE_TYPE, predicate};
use solar_release::tree::Tree;

#[derive(Parser)]
#[command(name = "solar-release")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes an image for each architecture into an OCI layout, and prints the digest of their index
    Image(ImageArgs),
    /// Prints the predicate of the provenance
    Provenance(ProvenanceArgs),
    /// Prints the type of that predicate
    PredicateType,
    /// Prints the Homebrew formula
    Formula(FormulaArgs),
}

#[derive(Args)]
struct ImageArgs {
    /// The folder of the layout
    #[arg(long)]
    layout: PathBuf,
    #[arg(long)]
    tag: String,
    /// The files of an architecture: ARCH=FOLDER
    #[arg(long = "root", value_name = "ARCH=FOLDER", value_parser = pair, required = true)]
    roots: Vec<(String, String)>,
    #[arg(long)]
    entrypoint: Vec<String>,
    #[arg(long = "cmd")]
    command: Vec<String>,
    #[arg(long, default_value = "65532:65532")]
    user: String,
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
}

#[derive(Args)]
struct ProvenanceArgs {
    #[arg(long)]
    home: String,
    #[arg(long)]
    commit: String,
    #[arg(long = "version-number")]
    version: String,
    #[arg(long = "target")]
    targets: Vec<String>,
    #[arg(long = "tool", value_name = "NAME=VERSION", value_parser = pair)]
    tools: Vec<(String, String)>,
    #[arg(long)]
    builder: String,
}

#[derive(Args)]
struct FormulaArgs {
    #[arg(long)]
    home: String,
    /// Where the archives are downloaded
    #[arg(long)]
    downloads: String,
    #[arg(long = "version-number")]
    version: String,
    /// The archive of a target: TARGET=FILE
    #[arg(long = "archive", value_name = "TARGET=FILE", value_parser = pair)]
    archives: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Image(args) => write_image(args),
        Command::Provenance(args) => Ok(format!("{:#}", provenance(args))),
        Command::PredicateType => Ok(PREDICATE_TYPE.to_owned()),
        Command::Formula(args) => formula_of(&args).map(|text| text.trim_end().to_owned()),
    };
    match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("solar-release: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_image(args: ImageArgs) -> io::Result<String> {
    let images = args.roots.iter().map(|(architecture, folder)| {
        let mut files = Tree::default();
        files.add_all(Path::new(folder))?;
        Ok(Image {
            architecture: architecture.clone(),
            entrypoint: args.entrypoint.clone(),
            command: args.command.clone(),
            user: args.user.clone(),
            labels: args.labels.clone(),
            files,
            is_compressed: true,
        })
    });
    let images: Vec<Image> = images.collect::<io::Result<_>>()?;
    layout::write(&args.layout, &args.tag, &images)
}

fn provenance(args: ProvenanceArgs) -> serde_json::Value {
    predicate(&Build {
        home: args.home,
        commit: args.commit,
        version: args.version,
        targets: args.targets,
        tools: args.tools,
        builder: args.builder,
    })
}

fn formula_of(args: &FormulaArgs) -> io::Result<String> {
    let archives = args.archives.iter().map(|(target, file)| {
        let name = Path::new(file)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let bytes =
            std::fs::read(file).map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?;
        Ok(Archive {
            target: target.clone(),
            url: format!("{}/{name}", args.downloads),
            sha256: image::digest(&bytes).trim_start_matches("sha256:").to_owned(),
        })
    });
    let archives: Vec<Archive> = archives.collect::<io::Result<_>>()?;
    Ok(formula(&args.home, &args.version, &archives))
}
