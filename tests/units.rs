//! The files under `deploy/`: systemd accepts them without a word, they are locked down, and their
//! times agree with each other and with the tick's deadline.

#[cfg(test)]
mod tests {
    use shared::platform::exit::Exit;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};
    use std::time::Duration;
    use tempfile::TempDir;

    const INGEST: &str = "watchalert-ingest.service";
    const SENDER: &str = "watchalert-sender.service";
    const WARM: &str = "watchalert-warm.service";
    const TIMER: &str = "watchalert-ingest.timer";
    const LISTEN: &str = "watchalert-listen.service";
    const SOCKET: &str = "watchalert-listen.socket";
    const PATH: &str = "watchalert-ingest.path";
    const ALL: [&str; 7] = [INGEST, WARM, SENDER, TIMER, LISTEN, SOCKET, PATH];

    /// `[ingest] deadline` by default: what a tick allows itself.
    const TICK_DEADLINE: Duration = Duration::from_secs(100);

    /// systemd's exposure scale runs from 0 to 100 (it prints tenths); 15 is "1.5 OK".
    const EXPOSURE_AT_MOST: &str = "15";

    #[test]
    fn systemd_has_nothing_to_say_about_the_units() {
        let Some(units) = Units::as_installed(str::to_owned) else {
            return;
        };
        assert_eq!(units.complaints(), "");
    }

    #[test]
    fn the_commented_credentials_work_once_uncommented() {
        let Some(units) = Units::as_installed(|text| text.replace("#LoadCred", "LoadCred")) else {
            return;
        };
        assert_eq!(units.complaints(), "");
        let secrets = [
            (INGEST, "cloud-key:"),
            (WARM, "cloud-key:"),
            (SENDER, "telegram-token:"),
            (LISTEN, "github-secret:"),
        ];
        for (unit, secret) in secrets {
            assert!(setting(&units.text(unit), "LoadCredential").starts_with(secret));
        }
    }

    #[test]
    fn a_misspelt_key_would_be_noticed() {
        let Some(units) = Units::as_installed(|text| text.replace("NoNewPriv", "NoNewPirv")) else {
            return;
        };
        assert!(units.complaints().contains("NoNewPirvileges"));
    }

    #[test]
    fn every_service_is_locked_down() {
        let Some(units) = Units::as_installed(str::to_owned) else {
            return;
        };
        for unit in [INGEST, WARM, SENDER, LISTEN] {
            let report = units.exposure(unit);
            let said = text_of(&report);
            println!("{}", said.trim_end().lines().last().unwrap_or_default());
            assert!(report.status.success(), "{said}");
        }
    }

    #[test]
    fn a_service_left_open_would_be_noticed() {
        let Some(units) = Units::as_installed(|text| text.replace("SystemCallFilter", "#")) else {
            return;
        };
        assert!(!units.exposure(SENDER).status.success());
    }

    #[test]
    fn user_and_directories_are_made_as_the_units_expect_them() {
        let Some(units) = Units::as_installed(str::to_owned) else {
            return;
        };
        let root = units.directory.path().join("root");
        fs::create_dir_all(root.join("etc")).unwrap();
        let in_root = |program: &str, arguments: &[&str], file: &str| {
            let mut command = Command::new(program);
            command.arg("--root").arg(&root).args(arguments);
            text_of(&command.arg(deploy().join(file)).output().unwrap())
        };

        let made = in_root("systemd-sysusers", &[], "watchalert.sysusers");
        let users = fs::read_to_string(root.join("etc/passwd")).expect(&made);
        assert!(users.starts_with("watchalert:x:"), "{users}");
        assert!(users.contains("nologin"), "{users}");
        if !we_are_root() {
            eprintln!("SKIPPED: only root can give directories away to the new user");
            return;
        }

        let said = in_root("systemd-tmpfiles", &["--create"], "watchalert.tmpfiles");
        assert_eq!(said, "");
        assert_eq!(mode_of(&root.join("etc/watchalert")), 0o750);
        assert_eq!(mode_of(&root.join("var/lib/watchalert")), 0o2770);
        for unit in [INGEST, SENDER] {
            assert_eq!(setting(&units.text(unit), "StateDirectoryMode"), "2770");
        }
    }

    #[test]
    fn a_hung_tick_is_over_before_the_next_is_due_and_never_before_its_deadline() {
        let tick = read(INGEST);
        let stop = duration(&tick, "TimeoutStopSec");
        let start = duration(&tick, "TimeoutStartSec");
        assert!(start > TICK_DEADLINE);
        assert!(start + stop < timer_interval());
    }

    #[test]
    fn the_tick_wants_the_model_loaded_and_does_not_wait_for_it() {
        let tick = read(INGEST);
        assert!(setting(&tick, "Wants").contains(WARM));
        assert!(!setting(&tick, "After").contains(WARM));
        let warm = read(WARM);
        let start = setting(&warm, "ExecStart");
        let (_, limit) = start.split_once("warm --limit ").unwrap();
        let limit = humantime::parse_duration(limit).unwrap();
        assert!(duration(&warm, "TimeoutStartSec") > limit);
        assert!(limit > TICK_DEADLINE);
    }

    #[test]
    fn a_model_that_cannot_be_loaded_is_neither_a_failed_unit_nor_the_end_of_the_tick() {
        assert!(setting(&read(WARM), "ExecStart").starts_with("-/usr/bin/"));
        let tick = read(INGEST);
        for key in ["Requires=", "Requisite=", "BindsTo=", "PartOf="] {
            assert!(!tick.contains(key), "{key}");
        }
    }

    #[test]
    fn the_receiver_listens_where_the_configuration_says_and_its_socket_outlives_it() {
        let listen = shared::config::Listen::default();
        let socket = read(SOCKET);
        assert_eq!(setting(&socket, "ListenStream"), listen.address.to_string());
        assert!(setting(&read(LISTEN), "Requires").contains(SOCKET));
        let files: usize = setting(&read(LISTEN), "LimitNOFILE").parse().unwrap();
        assert!(files > 2 * listen.connections);
    }

    #[test]
    fn a_tick_that_is_asked_for_is_the_timers() {
        let path = read(PATH);
        assert_eq!(setting(&path, "Unit"), INGEST);
        let wanted = setting(&path, "PathChanged");
        assert_eq!(wanted, "/var/lib/watchalert/state.db.tick-wanted");
    }

    #[test]
    fn a_second_tick_is_no_failure() {
        assert_eq!(
            setting(&read(INGEST), "SuccessExitStatus"),
            codes(&[Exit::AlreadyRunning])
        );
    }

    #[test]
    fn a_sender_is_started_again_unless_only_a_person_can_mend_it() {
        let sender = read(SENDER);
        assert_eq!(setting(&sender, "Restart"), "always");
        assert_eq!(setting(&sender, "StartLimitIntervalSec"), "0");
        let for_a_person = codes(&[Exit::Usage, Exit::Configuration]);
        assert_eq!(setting(&sender, "RestartPreventExitStatus"), for_a_person);
    }

    /// Copies of the units with a program that exists in place of ours, so that systemd's word
    /// does not depend on whether watchalert is installed.
    struct Units {
        directory: TempDir,
    }

    impl Units {
        /// None when this machine has no `systemd-analyze`; in CI that fails instead.
        fn as_installed(change: impl Fn(&str) -> String) -> Option<Self> {
            if Command::new("systemd-analyze")
                .arg("--version")
                .output()
                .is_err()
            {
                assert!(!in_ci(), "CI must have systemd-analyze: scripts/test");
                eprintln!("SKIPPED: systemd-analyze is not installed (Debian: systemd)");
                return None;
            }
            let directory = tempfile::Builder::new()
                .prefix("watchalert-units")
                .tempdir()
                .unwrap();
            for unit in ALL {
                let text = change(&read(unit));
                let text = text.replace("/usr/bin/watchalert-", "/bin/echo watchalert-");
                fs::write(directory.path().join(unit), text).unwrap();
            }
            Some(Self { directory })
        }

        fn text(&self, unit: &str) -> String {
            fs::read_to_string(self.directory.path().join(unit)).unwrap()
        }

        /// All that `systemd-analyze verify` says about our files; a warning about another
        /// package's unit is not ours.
        fn complaints(&self) -> String {
            let here = self.directory.path();
            let verdict = Command::new("systemd-analyze")
                .env("SYSTEMD_UNIT_PATH", format!("{}:", here.display()))
                .args(["verify", "--man=no"])
                .args(ALL.map(|unit| here.join(unit)))
                .output()
                .unwrap();
            let said = text_of(&verdict);
            let ours: Vec<&str> = said.lines().filter(|l| l.contains("watchalert")).collect();
            assert!(verdict.status.success() || !ours.is_empty(), "{said}");
            ours.join("\n")
        }

        /// Fails when the exposure is above the bar.
        fn exposure(&self, unit: &str) -> Output {
            Command::new("systemd-analyze")
                .args(["security", "--offline=true", "--no-pager", "--threshold"])
                .arg(EXPOSURE_AT_MOST)
                .arg(self.directory.path().join(unit))
                .output()
                .unwrap()
        }
    }

    fn deploy() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
    }

    fn read(unit: &str) -> String {
        fs::read_to_string(deploy().join(unit)).unwrap()
    }

    /// The one value of `key` in a unit's text.
    fn setting(unit: &str, key: &str) -> String {
        let values: Vec<&str> = unit
            .lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .collect();
        match values.as_slice() {
            [value] => (*value).to_owned(),
            others => panic!("{key} is set {} times", others.len()),
        }
    }

    fn codes(exits: &[Exit]) -> String {
        let codes: Vec<String> = exits.iter().map(|exit| exit.code().to_string()).collect();
        codes.join(" ")
    }

    fn duration(unit: &str, key: &str) -> Duration {
        humantime::parse_duration(&setting(unit, key)).unwrap()
    }

    /// From the one calendar form that the timer uses: every so many minutes of each hour.
    fn timer_interval() -> Duration {
        let calendar = setting(&read(TIMER), "OnCalendar");
        let minutes: u64 = calendar.strip_prefix("*:0/").unwrap().parse().unwrap();
        assert_eq!(60 % minutes, 0, "the last interval of an hour is shorter");
        Duration::from_secs(60 * minutes)
    }

    fn text_of(output: &Output) -> String {
        let parts = [&output.stdout, &output.stderr];
        parts
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .concat()
    }

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn we_are_root() -> bool {
        fs::metadata("/proc/self").unwrap().uid() == 0
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "what CI must have, others may lack"
    )]
    fn in_ci() -> bool {
        std::env::var("CI").is_ok_and(|value| value == "true")
    }
}
