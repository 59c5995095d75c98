package io.tapline.control.query.services;

import io.tapline.control.JobKey;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.SaslMechanism;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Kafka logins of jobs and monitors.
 *
 * @param jobs the brokers as stream jobs reach them, without the jobs' logins
 * @param jobKey key from which job passwords are derived; empty if jobs do not log in
 * @param monitors login of monitors on this host; empty if they authenticate with a certificate or
 *     not at all
 * @param hostKey key from which the passwords of monitors on other hosts are derived; empty if
 *     those do not log in
 */
public record KafkaAccess(
    KafkaEndpoint jobs,
    Optional<JobKey> jobKey,
    Optional<LoginFile> monitors,
    Optional<JobKey> hostKey) {
  static final String JOB_PREFIX = "job-";
  private static final String SERVICE = "kafka";

  /**
   * A login, and the file that passes it to a process.
   *
   * @param file file that contains {@link Login#format}, readable only by its owner
   */
  public record LoginFile(Login login, Path file) {}

  /**
   * Returns access without logins: brokers accept all clients, or identify them by their
   * certificates.
   */
  public static KafkaAccess withoutLogins(KafkaEndpoint jobs) {
    return new KafkaAccess(jobs, Optional.empty(), Optional.empty(), Optional.empty());
  }

  /** Returns access with logins for jobs only; brokers identify monitors by their certificates. */
  public static KafkaAccess ofJobs(KafkaEndpoint jobs, JobKey key) {
    return new KafkaAccess(jobs, Optional.of(key), Optional.empty(), Optional.empty());
  }

  /**
   * Returns true if a job's user must be created at the brokers before it can log in. An embedded
   * broker derives its users' passwords instead.
   */
  boolean storesJobUsers() {
    return jobKey.isPresent() && jobs.mechanism() == SaslMechanism.SCRAM_SHA_256;
  }

  /** Derives the password of a job's or a host's user from a key. */
  public static String derivedPassword(JobKey key, String user) {
    return user.startsWith(JOB_PREFIX)
        ? key.password(SERVICE, user.substring(JOB_PREFIX.length()))
        : key.monitorPassword(user);
  }

  /** Returns the user of a query's job, even if the job does not log in. */
  static String jobUser(String query) {
    return JOB_PREFIX + query;
  }

  /** Returns the login of a query's job. */
  Login jobLogin(String query) {
    return jobKey
        .map(key -> new Login(jobUser(query), derivedPassword(key, jobUser(query))))
        .orElse(Login.NONE);
  }

  /**
   * Returns the login of a host's monitor; the user is the name of its agent, which is also the CN
   * of its certificate.
   */
  public Login hostLogin(String host) {
    return hostKey.map(key -> new Login(host, key.monitorPassword(host))).orElse(Login.NONE);
  }
}
