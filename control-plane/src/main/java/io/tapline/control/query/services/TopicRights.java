package io.tapline.control.query.services;

import io.tapline.control.PipelineException;
import io.tapline.flink.Login;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.ResourceNotFoundException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Kafka ACLs for the topics of queries. A query's monitors may write to the query's topic; its job
 * may read that topic and write to the topics of its alerts. Only super users may do anything else.
 * ACLs exist only while their query runs. READ and WRITE imply DESCRIBE; a job needs no consumer
 * group. Thread-safe.
 *
 * <p>Brokers without an authorizer have no ACLs; everything works without them. A query's job and
 * monitors may reach a broker that does not know their ACLs yet; they retry for a moment.
 */
public final class TopicRights {
  private static final String USER = "User:";
  private static final ScramMechanism SCRAM = ScramMechanism.SCRAM_SHA_256;

  /**
   * Number of SCRAM iterations. This is the minimum that Kafka accepts: passwords are random, so
   * more iterations would only slow down connections.
   */
  private static final int ITERATIONS = 4096;

  private final KafkaAdmin admin;
  private final KafkaAccess access;

  /** The users that may write to each topic, as granted by this control plane. */
  private final Map<String, Set<String>> writers = new ConcurrentHashMap<>();

  TopicRights(KafkaAdmin admin, KafkaAccess access) {
    this.admin = admin;
    this.access = access;
  }

  /**
   * The users of a query's topic.
   *
   * @param monitors users that write to the topic
   * @param alertTopics topics that the query's job may write to
   */
  public record Users(Set<String> monitors, Set<String> alertTopics) {
    static final Users NONE = new Users(Set.of(), Set.of());
  }

  /**
   * Returns true if plans may write alerts to a topic: to any but Tapline's and the brokers' own
   * topics.
   */
  public static boolean mayTakeAlerts(String topic) {
    return !topic.isEmpty() && !topic.startsWith("tapline.") && !topic.startsWith("__");
  }

  /** A request whose response is pending. */
  interface PendingRequest {
    void await() throws PipelineException;
  }

  /** Grants a new query's users their rights. The requests have been sent when this returns. */
  PendingRequest grant(String topic, Users users) {
    String query = Topics.queryOf(topic);
    List<AclBinding> rights = new ArrayList<>();
    users.monitors().forEach(user -> rights.add(right(topic, user, AclOperation.WRITE)));
    String job = KafkaAccess.jobUser(query);
    rights.add(right(topic, job, AclOperation.READ));
    users.alertTopics().forEach(alerts -> rights.add(right(alerts, job, AclOperation.WRITE)));
    KafkaFuture<Void> granted = admin.client().createAcls(rights).all();
    Login login = access.jobLogin(query);
    KafkaFuture<Void> known =
        access.storesJobUsers() ? alter(upsertion(login)) : KafkaFuture.completedFuture(null);
    writers.put(topic, Set.copyOf(users.monitors()));
    return () -> {
      ifAuthorized(granted, "grant rights on topic " + topic);
      admin.await(known, "create user " + login.user());
    };
  }

  /**
   * Grants the rights, and revokes those that an earlier control plane granted to monitors that no
   * longer belong to the query.
   */
  void regrant(String topic, Users users) throws PipelineException {
    grant(topic, users).await();
    Set<String> stale = new HashSet<>(writersOf(topic));
    stale.removeAll(users.monitors());
    revokeFrom(topic, stale);
  }

  /** Allows exactly these monitors to write to a topic. */
  void move(String topic, Set<String> monitors) throws PipelineException {
    Set<String> previousWriters = writers.getOrDefault(topic, Set.of());
    if (previousWriters.equals(monitors)) {
      return;
    }
    List<AclBinding> rights =
        monitors.stream()
            .filter(user -> !previousWriters.contains(user))
            .map(user -> right(topic, user, AclOperation.WRITE))
            .toList();
    ifAuthorized(admin.client().createAcls(rights).all(), "grant rights on topic " + topic);
    writers.put(topic, Set.copyOf(monitors));
    Set<String> stale = new HashSet<>(previousWriters);
    stale.removeAll(monitors);
    revokeFrom(topic, stale);
  }

  private void revokeFrom(String topic, Set<String> users) throws PipelineException {
    List<AclBindingFilter> stale =
        users.stream().map(user -> right(topic, user, AclOperation.WRITE).toFilter()).toList();
    ifAuthorized(admin.client().deleteAcls(stale).all(), "revoke rights on topic " + topic);
  }

  /** Removes all rights of a query's users. The requests have been sent when this returns. */
  PendingRequest revoke(String topic) {
    writers.remove(topic);
    String job = KafkaAccess.jobUser(Topics.queryOf(topic));
    AclBindingFilter onTopic =
        new AclBindingFilter(literal(topic).toFilter(), AccessControlEntryFilter.ANY);
    AclBindingFilter ofJob =
        new AclBindingFilter(
            ResourcePatternFilter.ANY,
            new AccessControlEntryFilter(
                USER + job, null, AclOperation.ANY, AclPermissionType.ANY));
    KafkaFuture<?> revoked = admin.client().deleteAcls(List.of(onTopic, ofJob)).all();
    KafkaFuture<Void> forgotten =
        access.storesJobUsers()
            ? alter(new UserScramCredentialDeletion(job, SCRAM))
            : KafkaFuture.completedFuture(null);
    return () -> {
      ifAuthorized(revoked, "revoke rights on topic " + topic);
      awaitForgotten(forgotten, job);
    };
  }

  private void awaitForgotten(KafkaFuture<Void> forgotten, String user) throws PipelineException {
    try {
      admin.await(forgotten, "remove user " + user);
    } catch (PipelineException e) {
      if (!(e.getCause() instanceof ResourceNotFoundException)) {
        throw e;
      }
    }
  }

  /**
   * Returns the query topics on which a user has an ACL or whose job has a Kafka user, including
   * topics that do not exist.
   */
  Set<String> topics() throws PipelineException {
    Set<String> topics = new TreeSet<>();
    for (AclBinding right : rights(ResourcePatternFilter.ANY)) {
      String user = right.entry().principal().replaceFirst("^" + USER, "");
      String resource = right.pattern().name();
      if (right.pattern().resourceType() == ResourceType.TOPIC
          && right.pattern().patternType() == PatternType.LITERAL
          && resource.startsWith(Topics.PREFIX)) {
        topics.add(resource);
      } else {
        ofJobs(Stream.of(user)).forEach(topics::add);
      }
    }
    if (access.storesJobUsers()) {
      ofJobs(scramUsers().stream()).forEach(topics::add);
    }
    return topics;
  }

  private static Stream<String> ofJobs(Stream<String> users) {
    return users
        .filter(user -> user.startsWith(KafkaAccess.JOB_PREFIX))
        .map(user -> Topics.PREFIX + user.substring(KafkaAccess.JOB_PREFIX.length()));
  }

  private Set<String> scramUsers() throws PipelineException {
    return admin.await(admin.client().describeUserScramCredentials().users(), "list users").stream()
        .collect(Collectors.toSet());
  }

  private Set<String> writersOf(String topic) throws PipelineException {
    return rights(literal(topic).toFilter()).stream()
        .filter(right -> right.entry().operation() == AclOperation.WRITE)
        .map(right -> right.entry().principal().replaceFirst("^" + USER, ""))
        .collect(Collectors.toSet());
  }

  private Collection<AclBinding> rights(ResourcePatternFilter where) throws PipelineException {
    return describe(where).orElse(List.of());
  }

  /** Returns the matching ACLs; empty if brokers have no authorizer. */
  private Optional<Collection<AclBinding>> describe(ResourcePatternFilter where)
      throws PipelineException {
    AclBindingFilter all = new AclBindingFilter(where, AccessControlEntryFilter.ANY);
    return Optional.ofNullable(
        ifAuthorized(admin.client().describeAcls(all).values(), "list rights"));
  }

  /** Returns true if a broker knows the ACLs of a topic. */
  boolean areKnown(String topic, Users users) throws PipelineException {
    int granted = users.monitors().size() + 1;
    return describe(literal(topic).toFilter()).map(acls -> acls.size() >= granted).orElse(true);
  }

  private static AclBinding right(String topic, String user, AclOperation operation) {
    return new AclBinding(
        literal(topic),
        new AccessControlEntry(USER + user, "*", operation, AclPermissionType.ALLOW));
  }

  private static ResourcePattern literal(String topic) {
    return new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL);
  }

  private static UserScramCredentialUpsertion upsertion(Login login) {
    return new UserScramCredentialUpsertion(
        login.user(), new ScramCredentialInfo(SCRAM, ITERATIONS), login.password());
  }

  private KafkaFuture<Void> alter(UserScramCredentialAlteration alteration) {
    return admin.client().alterUserScramCredentials(List.of(alteration)).all();
  }

  /**
   * Waits for a response. Returns null if brokers have no authorizer, so that every client may do
   * everything.
   */
  private <T> T ifAuthorized(KafkaFuture<T> future, String action) throws PipelineException {
    try {
      return admin.await(future, action);
    } catch (PipelineException e) {
      if (e.getCause() instanceof SecurityDisabledException) {
        return null;
      }
      throw e;
    }
  }
}
