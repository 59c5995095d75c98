package io.tapline.control.cli.reference;

/** The environment variables that programs read; a test checks that there are no others. */
enum Environment {
  TAPLINE_SERVER(
      "URL", "`http://127.0.0.1:8480`", "the server that commands talk to; `--server` goes first"),
  TAPLINE_TOKEN_FILE("path", "", "a file with the token for it; `--token-file` goes first"),
  TAPLINE_TOKEN("text", "", "the token itself, where there is no file"),
  TAPLINE_CA(
      "path",
      "those that the host's Java knows",
      "authorities, as PEM, that signed the server's certificate; `--ca` goes first"),
  JAVA_HOME("folder", "the first `java` in `PATH`", "the Java to use (17 or later)"),
  TAPLINE_CLASSPATH(
      "paths",
      "",
      "jars and folders with [aggregates](../tutorials/write-a-processor.md) that are no part of Tapline, separated by colons"),
  TAPLINE_JAVA_OPTS("options", "", "added to Java's options, separated by spaces"),
  TAPLINE_LOG(
      "`error`, `warn`, `info`, `debug`, `off`",
      "`error`",
      "what Tapline logs of itself to standard error"),
  TAPLINE_LOG_ALL(
      "as `TAPLINE_LOG`",
      "`off`",
      "what everything else in its process logs (Kafka, Flink, Jetty)"),
  TAPLINE_LOG_AUDIT(
      "as `TAPLINE_LOG`",
      "`info`",
      "`off` keeps who changed what, and who was refused, out of a server's standard error (only where there are tokens);"
          + " `debug` adds who read what"),
  TAPLINE_LOG_BROKER_AUDIT(
      "as `TAPLINE_LOG`",
      "as `TAPLINE_LOG_ALL`",
      "of a Kafka broker that runs with Tapline's logging, as in the cluster in Docker: `info` reports connections and logins"
          + " that it refuses, and operations that its authorizer denies"),
  TAPLINE_WEBHOOK_SECRET(
      "text", "", "signs the webhooks of alerts; for the process that the stream job runs in"),
  SUDO_UID(
      "number",
      "",
      "set by sudo: whoever started a server by it may use it, too, where there are no tokens"),
  TMPDIR(
      "folder",
      "`/tmp`",
      "where pipelines keep their files while they run, but for a few MiB of an embedded broker's metadata, which are in"
          + " `/dev/shm` where that is memory");

  final String type;
  final String defaultText;
  final String meaning;

  Environment(String type, String defaultText, String meaning) {
    this.type = type;
    this.defaultText = defaultText;
    this.meaning = meaning;
  }
}
