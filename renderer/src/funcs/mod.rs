//! The functions Helm 4.3.1 offers to templates beside Go's own: sprig 3.3 (without `env`
//! and `expandenv`) and Helm's.
//!
//! One file a family; each ends in a table that declares name, parameter types and a line
//! of documentation, so that the evaluator, `solar-render functions` and the tests read
//! one list. What lint knows of each function is in the table of `traits`, which a new function has to be added to. What depends on more than the arguments (clock, randomness) goes through
//! [`Context`], which also notes that it was asked.
//!
//! `include`, `tpl` and `lookup` need the engine and are not here.

mod args;
mod case;
mod certs;
mod convert;
mod crypto;
mod data;
mod dates;
mod decimal;
mod dicts;
mod encode;
mod go_url;
mod kinds;
mod lists;
mod logic;
mod math;
mod merge;
mod paths;
pub mod random;
pub(crate) mod re2;
mod re2_class;
mod regex;
mod semver;
mod strings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod texts_tests;
pub(crate) mod traits;
mod urls;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use self::args::{MAX_ITEMS, MAX_TEXT};
pub use self::regex::RegexCache;
use crate::template::{Func, FuncError};
use crate::world::{Deadline, World};

/// Every family's table.
pub const FAMILIES: &[(&str, &[Func<Context>])] = &[
    ("Strings", strings::TABLE),
    ("Lists", lists::TABLE),
    ("Dictionaries", dicts::TABLE),
    ("Math", math::TABLE),
    ("Conversion", convert::TABLE),
    ("Regular expressions", regex::TABLE),
    ("Versions", semver::TABLE),
    ("Paths", paths::TABLE),
    ("URLs and network", urls::TABLE),
    ("Kinds and types", kinds::TABLE),
    ("Defaults and flow", logic::TABLE),
    ("Hashes and ciphers", crypto::TABLE),
    ("Keys and certificates", certs::TABLE),
    ("Dates and durations", dates::TABLE),
    ("Randomness", random::TABLE),
    ("Encodings", encode::TABLE),
    ("YAML, JSON and TOML", data::TABLE),
];

/// How many steps a call counts whose cost does not come from long texts: a step is some 100 ns.
pub const WORK: &[(&str, u32)] = &[
    ("bcrypt", 600_000),
    ("htpasswd", 600_000),
    ("derivePassword", 600_000),
    ("genPrivateKey", 600_000),
    ("genCA", 600_000),
    ("genCAWithKey", 10_000),
    ("genSelfSignedCert", 600_000),
    ("genSelfSignedCertWithKey", 10_000),
    ("genSignedCert", 600_000),
    ("genSignedCertWithKey", 10_000),
];

/// What functions need beside their arguments. One for each rendering.
pub struct Context {
    /// The clock and entropy.
    pub world: Arc<dyn World>,
    /// A fixed seed instead of the system's randomness: the same bytes in every run.
    pub seed: Option<u64>,
    /// Whether `fail` and `required` let the rendering go on, as in `helm lint`.
    pub lint: bool,
    /// How often each name is being included right now.
    pub includes: BTreeMap<Arc<str>, usize>,
    /// The functions called whose result differs from run to run.
    pub impure: BTreeSet<&'static str>,
    /// Those among them that drew from the seed: everybody who renders the chart gets the same secrets.
    pub predictable: BTreeSet<&'static str>,
    /// Regular expressions compiled so far; empty at first.
    pub regexes: RegexCache,
    /// When the rendering must be done; `None` at first.
    pub deadline: Option<Deadline>,
    /// How far the seed's randomness is used.
    pub stream: random::RandomStream,
    /// Keys made ahead; none at first.
    key_pool: certs::KeyPool,
}

impl Context {
    /// For one rendering.
    pub fn new(world: Arc<dyn World>, seed: Option<u64>, lint: bool) -> Self {
        Self {
            world,
            seed,
            lint,
            includes: BTreeMap::new(),
            impure: BTreeSet::new(),
            predictable: BTreeSet::new(),
            regexes: RegexCache::default(),
            deadline: None,
            stream: random::RandomStream::default(),
            key_pool: certs::KeyPool::default(),
        }
    }
    /// Notes that a function gives random results, which are predictable with a seed.
    pub(crate) fn note_random(&mut self, name: &'static str) {
        self.impure.insert(name);
        if self.seed.is_some() {
            self.predictable.insert(name);
        }
    }

    /// What ends the rendering, when its time is over.
    pub fn is_late(&self) -> Option<String> {
        let over = self.deadline.as_ref().filter(|deadline| deadline.is_over())?;
        Some(format!("the rendering takes longer than {:?}", over.time))
    }

    /// For functions that compare or search for long: between its pieces, each of some thousand steps.
    pub(crate) fn check_time(&self) -> Result<(), FuncError> {
        self.is_late().map_or(Ok(()), |words| Err(words.into()))
    }
}
