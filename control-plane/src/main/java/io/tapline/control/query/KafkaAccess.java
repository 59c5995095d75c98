package io.tapline.control.query;

import io.tapline.control.JobKey;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.SaslMechanism;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Who logs in to Kafka as whom.
 *
 * @param jobs where stream jobs reach the brokers, without their logins
 * @param jobKey from which the passwords of jobs follow; empty if jobs do not log in
 * @param monitors how monitors on this host log in; empty if brokers know them by a certificate or
 *     not at all
 * @param hostKey from which the passwords of monitors on hosts follow; empty if those do not log in
 */
public record KafkaAccess(
    KafkaEndpoint jobs,
    Optional<JobKey> jobKey,
    Optional<LoginFile> monitors,
    Optional<JobKey> hostKey) {
  static final String JOB_PREFIX = "job-";
  private static final String SERVICE = "kafka";

  /**
   * A login, and the file that hands it to a process.
   *
   * @param file for its owner alone, with {@link Login#format} as its line
   */
  public record LoginFile(Login login, Path file) {}

  /** Nobody logs in: brokers take everybody, or know their clients by certificates. */
  public static KafkaAccess withoutLogins(KafkaEndpoint jobs) {
    return new KafkaAccess(jobs, Optional.empty(), Optional.empty(), Optional.empty());
  }

  /** Jobs log in; monitors are known by their certificates. */
  public static KafkaAccess ofJobs(KafkaEndpoint jobs, JobKey key) {
    return new KafkaAccess(jobs, Optional.of(key), Optional.empty(), Optional.empty());
  }

  /**
   * Whether the brokers must be told of a job's user before it can log in. An embedded broker
   * derives the passwords of its users instead.
   */
  boolean storesJobUsers() {
    return jobKey.isPresent() && jobs.mechanism() == SaslMechanism.SCRAM_SHA_256;
  }

  /** The password that follows from a key for a user, which is a job's or a host's. */
  public static String derivedPassword(JobKey key, String user) {
    return user.startsWith(JOB_PREFIX)
        ? key.password(SERVICE, user.substring(JOB_PREFIX.length()))
        : key.monitorPassword(user);
  }

  /** The user of a query's job, whether it logs in or not. */
  static String jobUser(String query) {
    return JOB_PREFIX + query;
  }

  /** How a query's job logs in. */
  Login jobLogin(String query) {
    return jobKey
        .map(key -> new Login(jobUser(query), derivedPassword(key, jobUser(query))))
        .orElse(Login.NONE);
  }

  /**
   * How the monitor of a host logs in: as its agent is called, which is also a certificate's CN.
   */
  Login hostLogin(String host) {
    return hostKey.map(key -> new Login(host, key.monitorPassword(host))).orElse(Login.NONE);
  }
}
