package io.tapline.control.cli.reference;

/** The environment variables that programs read; a test checks that there are no others. */
enum Environment {
  TAPLINE_SERVER(
      "URL", "`http://127.0.0.1:8480`", "server that commands use; `--server` takes precedence"),
  TAPLINE_TOKEN_FILE("path", "", "file with the token for it; `--token-file` takes precedence"),
  TAPLINE_TOKEN("text", "", "the token itself, if there is no file"),
  TAPLINE_CA(
      "path",
      "the authorities that the host's Java trusts",
      "certificate authorities (PEM) that signed the server's certificate; `--ca` takes precedence"),
  JAVA_HOME("folder", "the first `java` in `PATH`", "the Java to use (17 or later)"),
  TAPLINE_CLASSPATH(
      "paths",
      "",
      "jars and folders with [aggregates](../tutorials/write-a-processor.md) that are not part of Tapline, separated by colons"),
  TAPLINE_JAVA_OPTS("options", "", "additional Java options, separated by spaces"),
  TAPLINE_LOG(
      "`error`, `warn`, `info`, `debug`, `off`",
      "`error`",
      "log level of Tapline on standard error"),
  TAPLINE_LOG_ALL(
      "as `TAPLINE_LOG`",
      "`off`",
      "log level of everything else in the process (Kafka, Flink, Jetty)"),
  TAPLINE_LOG_AUDIT(
      "as `TAPLINE_LOG`",
      "`info`",
      "audit log on a server's standard error, if it has tokens: `info` reports changes and rejected requests with their users,"
          + " `debug` also reads, `off` nothing"),
  TAPLINE_LOG_BROKER_AUDIT(
      "as `TAPLINE_LOG`",
      "as `TAPLINE_LOG_ALL`",
      "audit log of a Kafka broker that runs with Tapline's logging, as in the cluster in Docker: `info` reports connections and logins"
          + " that it rejects, and operations that its authorizer denies"),
  TAPLINE_WEBHOOK_SECRET(
      "text", "", "key that signs alert webhooks; set it for the process of the stream job"),
  SUDO_UID(
      "number",
      "",
      "set by sudo: the user who started a server with sudo may use it, too, if it has no tokens"),
  TMPDIR(
      "folder",
      "`/tmp`",
      "folder for the files of running pipelines, except a few MiB of an embedded broker's metadata, which are in"
          + " `/dev/shm` if that is in memory");

  final String type;
  final String defaultText;
  final String meaning;

  Environment(String type, String defaultText, String meaning) {
    this.type = type;
    this.defaultText = defaultText;
    this.meaning = meaning;
  }
}
