//! A bucket of S3 and what speaks it, GCS or Azure, as a place; through the `object_store` crate.
//!
//! Credentials are found as each of them does it: variables (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
//! `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, ...), the identity of the machine or the job, and for S3
//! the files `~/.aws/credentials` and `~/.aws/config` with `AWS_PROFILE`.
//!
//! Each call has a deadline of its own; a request that fails for a passing reason is tried again until then. A
//! conditional write whose answer got lost is not tried again here: whether it succeeded is seen by reading.

use crate::error::RemoteError;
use crate::place::{Deadline, Found, Listed, Place, Version};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, ObjectStore, PutMode, PutOptions, RetryConfig, UpdateVersion,
};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::runtime::Runtime;

/// One request may take this long; a step may make several.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

pub struct Bucket {
    store: Box<dyn ObjectStore>,
    prefix: String,
    runtime: Runtime,
    requests: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bucket").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Bucket {
    pub fn open(url: &str) -> Result<Self, RemoteError> {
        let place = |e: &dyn std::fmt::Display| RemoteError::Place(format!("{url}: {e}"));
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        let prefix = rest.split_once('/').map_or("", |(_, prefix)| prefix).trim_matches('/');
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            store: backend(url).map_err(|e| place(&e))?,
            prefix: prefix.to_owned(),
            runtime: runtime.map_err(|e| place(&e))?,
            requests: AtomicU64::new(0),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
        })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    /// Does one thing, within the time that is left.
    fn within<T>(
        &self,
        until: Deadline,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, RemoteError> {
        until.check()?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let timed = async { tokio::time::timeout(until.left(), work).await };
        self.runtime.block_on(timed).map_err(|_| RemoteError::Late(until.whole))
    }
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: 3, retry_timeout: Duration::from_secs(20), ..RetryConfig::default() }
}

fn client(allow_http: bool) -> ClientOptions {
    ClientOptions::new()
        .with_timeout(LONGEST_REQUEST)
        .with_connect_timeout(Duration::from_secs(5))
        .with_allow_http(allow_http)
}

fn backend(url: &str) -> Result<Box<dyn ObjectStore>, Error> {
    // A server on this machine or in a test has no certificate; whoever names http:// means it.
    let plain = |name: &str| std::env::var(name).is_ok_and(|value| value.starts_with("http://"));
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    Ok(match scheme {
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry());
            Box::new(builder.with_client_options(client(false)).build()?)
        }
        "az" | "abfss" => {
            let http = plain("AZURE_STORAGE_ENDPOINT") || plain("AZURE_ENDPOINT");
            let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry());
            Box::new(builder.with_client_options(client(http)).build()?)
        }
        _ => {
            let http =
                plain("AWS_ENDPOINT_URL") || plain("AWS_ENDPOINT_URL_S3") || plain("AWS_ENDPOINT");
            let mut builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry());
            if let Ok(endpoint) = std::env::var("AWS_ENDPOINT_URL_S3") {
                builder = builder.with_endpoint(endpoint);
            }
            builder = crate::bucket::profile::add(builder);
            Box::new(builder.with_client_options(client(http)).build()?)
        }
    })
}

fn place_error(error: &Error) -> RemoteError {
    // The first line says what; what follows is a page of markup of the server.
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    RemoteError::Place(line.chars().take(300).collect())
}

impl Place for Bucket {
    fn get(
        &self,
        name: &str,
        known: Option<&Version>,
        until: Deadline,
    ) -> Result<Found, RemoteError> {
        let options = GetOptions {
            if_none_match: known.filter(|known| !known.is_empty()).cloned(),
            ..GetOptions::default()
        };
        let path = self.path(name);
        let got = self.within(until, async {
            let result = self.store.get_opts(&path, options).await?;
            let version = result.meta.e_tag.clone().unwrap_or_default();
            Ok((result.bytes().await?, version))
        })?;
        match got {
            Ok((bytes, version)) => {
                self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(Found::Bytes(bytes.to_vec(), version))
            }
            Err(Error::NotModified { .. }) => Ok(Found::Same),
            Err(Error::NotFound { .. }) => Ok(Found::Nothing),
            Err(error) => Err(place_error(&error)),
        }
    }

    fn put(&self, name: &str, bytes: &[u8], until: Deadline) -> Result<(), RemoteError> {
        let path = self.path(name);
        let put = self.within(until, self.store.put(&path, bytes.to_vec().into()))?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        put.map(drop).map_err(|e| place_error(&e))
    }

    fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        seen: Option<&Version>,
        until: Deadline,
    ) -> Result<bool, RemoteError> {
        let mode = match seen {
            Some(seen) => {
                PutMode::Update(UpdateVersion { e_tag: Some(seen.clone()), version: None })
            }
            None => PutMode::Create,
        };
        let path = self.path(name);
        let options = PutOptions { mode, ..PutOptions::default() };
        let put = self.within(until, self.store.put_opts(&path, bytes.to_vec().into(), options))?;
        match put {
            Ok(_) => {
                self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(true)
            }
            Err(
                Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. },
            ) => Ok(false),
            // Two conditional writes at the same moment.
            Err(error) if error.to_string().contains("409") => Ok(false),
            Err(error) => Err(place_error(&error)),
        }
    }

    fn list(&self, folder: &str, until: Deadline) -> Result<Vec<Listed>, RemoteError> {
        let path = self.path(folder);
        let listed = self.within(until, self.store.list_with_delimiter(Some(&path)))?;
        let listed = listed.map_err(|e| place_error(&e))?;
        let now = SystemTime::now();
        let one = |object: object_store::ObjectMeta| {
            let name = object.location.filename().unwrap_or_default();
            let age =
                now.duration_since(SystemTime::from(object.last_modified)).unwrap_or_default();
            Listed { name: format!("{folder}/{name}"), bytes: object.size, age }
        };
        Ok(listed.objects.into_iter().map(one).collect())
    }

    fn remove(&self, name: &str, until: Deadline) -> Result<(), RemoteError> {
        let path = self.path(name);
        match self.within(until, self.store.delete(&path))? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(place_error(&error)),
        }
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn traffic(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }
}

/// The files in which the tools of AWS keep keys, which `object_store` does not read.
mod profile {
    use object_store::aws::AmazonS3Builder;
    use std::collections::HashMap;
    use std::path::PathBuf;

    pub(super) fn add(mut builder: AmazonS3Builder) -> AmazonS3Builder {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = set("HOME").map(|home| PathBuf::from(home).join(".aws"));
        let file = |variable: &str, name: &str| {
            let path = set(variable).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(name)));
            path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
        };
        let profile = set("AWS_PROFILE").unwrap_or_else(|| "default".into());
        if set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).is_none() {
            let config = file("AWS_CONFIG_FILE", "config");
            let titles = [profile.clone(), format!("profile {profile}")];
            let region = titles.iter().find_map(|title| section(&config, title).remove("region"));
            builder = builder.with_region(region.unwrap_or_else(|| "us-east-1".into()));
        }
        let named = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"];
        if named.iter().any(|name| set(name).is_some()) {
            return builder;
        }
        let mut keys = section(&file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &profile);
        if let (Some(id), Some(secret)) =
            (keys.remove("aws_access_key_id"), keys.remove("aws_secret_access_key"))
        {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            if let Some(token) = keys.remove("aws_session_token") {
                builder = builder.with_token(token);
            }
        }
        builder
    }

    /// The keys below `[title]`.
    pub(super) fn section(text: &str, title: &str) -> HashMap<String, String> {
        let mut found = HashMap::new();
        let mut inside = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                inside = name.trim() == title;
            } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
                found.insert(key.trim().to_owned(), value.trim().to_owned());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read() {
        let text = "[default]\naws_access_key_id = A\n\n[profile ci]\nregion=eu-west-1\n[ci]\naws_access_key_id=B";
        assert_eq!(profile::section(text, "default")["aws_access_key_id"], "A");
        assert_eq!(profile::section(text, "profile ci")["region"], "eu-west-1");
        assert_eq!(profile::section(text, "ci")["aws_access_key_id"], "B");
        assert!(profile::section(text, "other").is_empty());
    }

    #[test]
    fn a_bucket_is_opened_without_a_request() {
        let bucket = Bucket::open("s3://ci-cache/tamis/x/").unwrap();
        assert_eq!((bucket.prefix.as_str(), bucket.requests()), ("tamis/x", 0));
        assert_eq!(bucket.path("heads/a").to_string(), "tamis/x/heads/a");
    }
}
