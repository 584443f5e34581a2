//! `login` and `logout`

use super::args::login::{LoginArgs, LogoutArgs};
use super::args::registry::{HiddenSecret, RegistryFlags};
use super::client::client_options;
use super::context::{CommandOutcome, Context};
use super::keys::{ask, ask_openly};
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::{self, ClientOptions, Credentials, Kept, Secret};
use crate::report::{self, Report};

/// `login`
pub(crate) fn login(args: &LoginArgs, context: &Context<'_>) -> CommandOutcome {
    let prepared = registry(args)
        .and_then(|registry| client_options(&registry))
        .and_then(|client| {
            let given = given(&client, context)?;
            Ok((client, given))
        });
    let (client, given) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return CommandOutcome::failed(problem),
    };
    let progress = TerminalProgress::new(context.printer, "pushing");
    match oci::login(&args.host, &given, &client, context.world, &progress) {
        Ok(kept) => {
            if !kept.known {
                let message = format!("{} did not request credentials: they were not checked", args.host);
                context.printer.warn(&Diagnostic::warning(Class::Auth, message));
            }
            let text = "Login Succeeded\n".to_owned();
            done(report::Outcome::Saved, args.host.as_str(), kept, text)
        }
        Err(error) => CommandOutcome::failed(error.diagnostic().into()),
    }
}

/// The flags; prompts for the password if only the user is given.
fn registry(args: &LoginArgs) -> Result<RegistryFlags> {
    let mut registry = args.registry.clone();
    if registry.username.is_some() && registry.password.is_none() && !registry.password_stdin {
        registry.password = ask("Password: ")?.map(HiddenSecret);
    }
    Ok(registry)
}

/// `logout`
pub(crate) fn logout(args: &LogoutArgs, context: &Context<'_>) -> CommandOutcome {
    let client = ClientOptions {
        registry_config: args.registry_config.clone(),
        ..ClientOptions::default()
    };
    match oci::logout(&args.host, &client, context.world) {
        Ok(kept) => {
            let outcome = if kept.known {
                report::Outcome::Removed
            } else {
                report::Outcome::Unchanged
            };
            let text = if kept.known || context.called_as.is_helm() {
                format!("Removing login credentials for {}\n", args.host)
            } else {
                format!("Not logged in to {}\n", args.host)
            };
            done(outcome, args.host.as_str(), kept, text)
        }
        Err(error) => CommandOutcome::failed(error.diagnostic().into()),
    }
}

/// The credentials from the command line, or from the environment as in other commands.
fn given(client: &ClientOptions, context: &Context<'_>) -> Result<Credentials> {
    if let Some(given) = &client.credentials {
        return Ok(given.clone());
    }
    let env = |name| context.world.env(name);
    match (env("REGISTRY_USERNAME"), env("REGISTRY_PASSWORD")) {
        (Some(username), Some(password)) => Ok(Credentials::Basic {
            username,
            password: Secret::new(password),
        }),
        _ => ask_both()?.ok_or_else(|| {
            Diagnostics::from(
                Diagnostic::error(Class::Usage, "no credentials are given")
                    .hint("--username NAME --password-stdin, or REGISTRY_USERNAME and REGISTRY_PASSWORD"),
            )
        }),
    }
}

/// Prompts for both on the terminal, if there is one.
fn ask_both() -> Result<Option<Credentials>> {
    let Some(username) = ask_openly("Username: ")? else {
        return Ok(None);
    };
    let password = ask("Password: ")?;
    Ok(password.map(|password| Credentials::Basic { username, password }))
}

fn done(outcome: report::Outcome, host: &str, kept: Kept, text: String) -> CommandOutcome {
    // A helper's storage location is unknown.
    let file = kept.helper.is_none().then(|| kept.file.display().to_string());
    CommandOutcome {
        report: Report {
            outcome: Some(outcome),
            reference: Some(host.to_owned()),
            file,
            ..Report::default()
        },
        text,
        problem: None,
    }
}
