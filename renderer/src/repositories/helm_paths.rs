//! The locations of Helm's files: HELM_*_HOME, the XDG variables, then the folders of the operating system.

use std::path::PathBuf;

use crate::world::World;

/// One of Helm's three folders: Helm's variable, XDG's, and the default below the home folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HelmFolder {
    helm: &'static str,
    xdg: &'static str,
    home: &'static str,
}

/// Caches.
pub(crate) const CACHE: HelmFolder = HelmFolder {
    helm: "HELM_CACHE_HOME",
    xdg: "XDG_CACHE_HOME",
    home: if cfg!(target_os = "macos") {
        "Library/Caches/helm"
    } else {
        ".cache/helm"
    },
};
/// Settings.
pub(crate) const CONFIG: HelmFolder = HelmFolder {
    helm: "HELM_CONFIG_HOME",
    xdg: "XDG_CONFIG_HOME",
    home: if cfg!(target_os = "macos") {
        "Library/Preferences/helm"
    } else {
        ".config/helm"
    },
};
/// Plugins and starters.
pub(crate) const DATA: HelmFolder = HelmFolder {
    helm: "HELM_DATA_HOME",
    xdg: "XDG_DATA_HOME",
    home: if cfg!(target_os = "macos") {
        "Library/helm"
    } else {
        ".local/share/helm"
    },
};

impl HelmFolder {
    /// `None` without a home folder.
    pub(crate) fn path(self, world: &dyn World) -> Option<PathBuf> {
        let env = |name| world.env(name).map(PathBuf::from);
        env(self.helm)
            .or_else(|| Some(env(self.xdg)?.join("helm")))
            .or_else(|| Some(world.home()?.join(self.home)))
    }
}

/// The list of repositories: HELM_REPOSITORY_CONFIG, else in the settings folder.
pub(crate) fn repository_config(world: &dyn World) -> Option<PathBuf> {
    let named = world.env("HELM_REPOSITORY_CONFIG").map(PathBuf::from);
    named.or_else(|| Some(CONFIG.path(world)?.join("repositories.yaml")))
}

/// The folder of indexes: HELM_REPOSITORY_CACHE, else in the cache folder.
pub(crate) fn repository_cache(world: &dyn World) -> Option<PathBuf> {
    let named = world.env("HELM_REPOSITORY_CACHE").map(PathBuf::from);
    named.or_else(|| Some(CACHE.path(world)?.join("repository")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;

    #[test]
    fn helms_variables_come_before_xdgs_and_those_before_the_home_folder() {
        let at = |env: &[(&str, &str)]| {
            let world = Fixed::with_env(env);
            let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
            (shown(repository_config(&world)), shown(repository_cache(&world)))
        };
        let both = |one: &str, other: &str| (Some(one.to_owned()), Some(other.to_owned()));
        assert_eq!(at(&[]), (None, None));
        let xdg = [
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_CACHE_HOME", "/k"),
        ];
        assert_eq!(at(&xdg), both("/c/helm/repositories.yaml", "/k/helm/repository"));
        let helm = [
            ("XDG_CONFIG_HOME", "/c"),
            ("HELM_CONFIG_HOME", "/hc"),
            ("HELM_CACHE_HOME", "/hk"),
        ];
        assert_eq!(at(&helm), both("/hc/repositories.yaml", "/hk/repository"));
        let files = [
            ("HELM_REPOSITORY_CONFIG", "/list"),
            ("HELM_REPOSITORY_CACHE", "/indexes"),
            ("HELM_CONFIG_HOME", "/hc"),
        ];
        assert_eq!(at(&files), both("/list", "/indexes"));
    }
}
