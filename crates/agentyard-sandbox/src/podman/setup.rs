//! The image that commands run in: as it was asked for, or set up once by commands of a project's or a session's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::container::Afterwards;
use super::images::Image;
use super::service::{Service, refused};
use super::specification::Identity;
use super::{Circumstances, Podman, api};
use crate::command::{Command, CommandError, Event, Limits, Network};

/// How long setting up an image may take.
const SET_UP_LIMIT: Duration = Duration::from_secs(30 * 60);

/// How much of what set-up commands say is told when they fail.
const MAX_SET_UP_WORDS: usize = 2000;

/// The most commands that set up an image, and how long each may be.
const MAX_SET_UP_COMMANDS: usize = 20;
const MAX_SET_UP_COMMAND: usize = 2000;

impl Podman {
    /// The image that was asked for, and the name of what it became by set-up commands.
    pub(super) async fn image(&self, service: &Arc<Service>) -> Result<(Image, String), CommandError> {
        let name = self.settings.image.to_string();
        let setup = &self.settings.setup;
        if let Some(image) = Image::find(&service.api, &name).await? {
            let after = image.name_after(setup);
            if setup.is_empty() {
                let id = image.id.clone();
                return Ok((image, id));
            }
            if Image::find(&service.api, &after).await?.is_some() {
                return Ok((image, after));
            }
        }
        let _alone = self.shared.making_images.lock().await;
        let image = match Image::find(&service.api, &name).await? {
            Some(image) => image,
            None => Image::pull(&service.api, &self.settings.image).await?,
        };
        if setup.is_empty() {
            let id = image.id.clone();
            return Ok((image, id));
        }
        let after = image.name_after(setup);
        if Image::find(&service.api, &after).await?.is_none() {
            self.set_up(service, &image, &after).await?;
        }
        Ok((image, after))
    }

    /// Runs the set-up commands in a container, and makes an image of it.
    async fn set_up(&self, service: &Arc<Service>, image: &Image, name: &str) -> Result<(), CommandError> {
        let identity = match self.identity() {
            Identity::User(..) | Identity::SetUp => Identity::SetUp,
            Identity::Own | Identity::OwnSetUp => Identity::OwnSetUp,
        };
        let circumstances = Circumstances {
            image,
            runs: &image.id,
            identity,
            afterwards: Afterwards::Kept,
            stays: None,
        };
        let command = set_up_command(&self.settings.setup, self.settings.setup_network)?;
        let mut contained = self.begin(service, command, circumstances).await?;
        let mut words = Vec::new();
        let exit = loop {
            match contained.next_event().await? {
                Event::Output(_, bytes) => {
                    words.extend(bytes);
                    let excess = words.len().saturating_sub(MAX_SET_UP_WORDS);
                    words.drain(..excess);
                }
                Event::Ended(exit) => break exit,
            }
        };
        if exit.code != Some(0) {
            let said = api::clean(&String::from_utf8_lossy(&words));
            return Err(CommandError::Refused {
                reason: format!(
                    "setting up the image {} failed; its commands said last: {said}",
                    self.settings.image
                ),
                remedy: "correct the set-up commands".to_owned(),
            });
        }
        let Some(container) = contained.container() else {
            return Ok(());
        };
        Image::commit(&container.service().api, container.name(), name)
            .await
            .map_err(|error| refused(&error))
    }
}

fn set_up_command(commands: &[String], network: Network) -> Result<Command, CommandError> {
    let is_command =
        |command: &String| (1..=MAX_SET_UP_COMMAND).contains(&command.len()) && !command.contains('\0');
    if commands.len() > MAX_SET_UP_COMMANDS || !commands.iter().all(is_command) {
        return Err(CommandError::Refused {
            reason: format!(
                "an image is set up by at most {MAX_SET_UP_COMMANDS} commands of 1 to {MAX_SET_UP_COMMAND} characters"
            ),
            remedy: "put what is longer into a script in the image".to_owned(),
        });
    }
    Ok(Command {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-e".to_owned(), "-c".to_owned(), commands.join("\n")],
        mounts: Vec::new(),
        directory: PathBuf::from("/"),
        hidden: Vec::new(),
        environment: Vec::new(),
        input: Vec::new(),
        network,
        limits: Limits {
            duration: SET_UP_LIMIT,
            ..Limits::default()
        },
    })
}
