package io.tapline.control.cli;

import picocli.CommandLine.Option;

/** Services that run already, in place of the embedded ones. */
final class ServiceOptions {
  @Option(
      names = "--brokers",
      paramLabel = "HOST:PORT",
      defaultValue = "",
      description = "Use this Kafka broker instead of an embedded one.")
  private String brokers = "";

  @Option(
      names = "--redis",
      paramLabel = "HOST:PORT",
      defaultValue = "",
      description = "Use this Redis instead of a redis-server of our own.")
  private String redis = "";

  String brokers() {
    return brokers;
  }

  String redis() {
    return redis;
  }
}
