//! The template functions of Helm 4.3.1 other than Go's own: sprig 3.3 (without `env` and `expandenv`) and Helm's.
//!
//! One file per family; each ends with a table of names, parameter types and documentation, which the evaluator,
//! `solar-render functions` and the tests share. What lint knows about each function is in the table of `traits`, to
//! which a new function must be added. Functions that depend on more than the arguments (clock, randomness) use
//! [`Context`], which also records that use.
//!
//! `include`, `tpl` and `lookup` need the engine and are not here.

mod args;
mod case;
#[cfg(feature = "crypto")]
mod certs;
#[cfg(feature = "crypto")]
mod ciphers;
mod cluster_file;
mod cluster_objects;
mod convert;
mod cryptographic;
mod data;
mod dates;
mod decimal;
mod dicts;
mod encode;
mod go_url;
mod hashes;
mod kinds;
mod lists;
mod logic;
mod math;
mod merge;
mod object_lookup;
mod paths;
pub mod random;
pub(crate) mod re2;
mod re2_class;
mod re2_symbols;
mod regex;
mod seeded_results;
mod semver;
mod strings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod texts_tests;
#[cfg(any(test, feature = "pipeline"))]
pub(crate) mod traits;
mod urls;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use self::args::{MAX_ITEMS, MAX_TEXT};
pub use self::cluster_file::{ClusterFiles, MAX_CLUSTER_BYTES};
pub use self::cluster_objects::ClusterObjects;
#[cfg(feature = "pipeline")]
pub(crate) use self::data::SPRIG;
pub use self::object_lookup::ObjectLookup;
pub use self::regex::RegexCache;
pub use self::seeded_results::{MAX_RESULTS, SeededResults};
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
    ("Hashes", hashes::TABLE),
    ("Passwords and ciphers", cryptographic::CIPHERS),
    ("Keys and certificates", cryptographic::CERTIFICATES),
    ("Dates and durations", dates::TABLE),
    ("Randomness", random::TABLE),
    ("Encodings", encode::TABLE),
    ("YAML, JSON and TOML", data::TABLE),
];

/// The number of steps of expensive calls whose cost doesn't depend on the length of texts: a step is some 100 ns.
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

/// The state of functions in addition to their arguments. One for each rendering.
pub struct Context {
    /// The clock and entropy.
    pub world: Arc<dyn World>,
    /// A fixed seed instead of the system's randomness: the same bytes in every run.
    pub seed: Option<u64>,
    /// Whether rendering continues after `fail` and `required`, as in `helm lint`.
    pub lint: bool,
    /// The current nesting of includes of each name.
    pub includes: BTreeMap<Arc<str>, usize>,
    /// The functions called whose result differs from run to run.
    pub impure: BTreeSet<&'static str>,
    /// Those among them that used the seed: anyone who renders the chart gets the same secrets.
    pub predictable: BTreeSet<&'static str>,
    /// Regular expressions compiled so far; empty at first.
    pub regexes: RegexCache,
    /// The deadline of the rendering; `None` at first.
    pub deadline: Option<Deadline>,
    /// The position in the seed's random stream.
    pub stream: random::RandomStream,
    /// The objects of the cluster; none at first.
    pub cluster: Arc<dyn ObjectLookup>,
    /// What slow functions returned for the seed in other renderings; nothing at first.
    pub seeded: Arc<SeededResults>,
    /// Keys generated ahead of time; none at first.
    #[cfg(feature = "crypto")]
    key_pool: certs::KeyPool,
}

impl Context {
    /// A context for one rendering.
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
            cluster: Arc::new(ClusterObjects::default()),
            seeded: Arc::default(),
            #[cfg(feature = "crypto")]
            key_pool: certs::KeyPool::default(),
        }
    }
    /// Records that a function returned random results, which are predictable with a seed.
    pub(crate) fn note_random(&mut self, name: &'static str) {
        self.impure.insert(name);
        if self.seed.is_some() {
            self.predictable.insert(name);
        }
    }

    /// The error message, if the deadline has passed.
    pub fn is_late(&self) -> Option<String> {
        let over = self.deadline.as_ref().filter(|deadline| deadline.is_over())?;
        Some(format!("the rendering takes longer than {:?}", over.time))
    }

    /// Checks the deadline; for long-running functions, after every few thousand steps.
    pub(crate) fn check_time(&self) -> Result<(), FuncError> {
        self.is_late().map_or(Ok(()), |words| Err(words.into()))
    }
}
