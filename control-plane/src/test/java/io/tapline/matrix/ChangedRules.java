package io.tapline.matrix;

import io.tapline.matrix.AccessTable.Row;
import io.tapline.matrix.Attempts.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import redis.clients.jedis.Jedis;

/**
 * Shows that the matrix detects missing and superfluous rules. As the control plane, it changes one
 * rule at a time on the services of a running cluster, requires that exactly the cells that depend
 * on the rule become wrong, and reverts the change. It changes no rule that a running query needs.
 */
final class ChangedRules {
  private static final int REDIS = 6379;
  private static final int ZOOKEEPER = 2281;

  /** Maximum time until a changed rule applies. Brokers receive rules from the controller. */
  private static final long TIMEOUT_NS = 10_000_000_000L;

  private final Cluster cluster;
  private final AccessTable table;
  private final Attempts attempts;
  private final Map<String, Component> components;
  private final Component control;

  ChangedRules(
      Cluster cluster, AccessTable table, Attempts attempts, Map<String, Component> components) {
    this.cluster = cluster;
    this.table = table;
    this.attempts = attempts;
    this.components = components;
    this.control = components.get("control");
  }

  private interface Step {
    void run() throws Exception;
  }

  /**
   * A change to one rule.
   *
   * @param row row of the table whose cells depend on the rule
   * @param roles roles whose cells differ from the table while the rule is changed
   */
  private record Rule(String title, Step change, Step undo, String row, Set<String> roles) {}

  /**
   * Changes each rule and prints the effect on the matrix; returns true if every effect is as
   * expected.
   */
  boolean areFound() throws Exception {
    boolean all = true;
    for (Rule rule : rules()) {
      Row row = table.row(rule.row());
      Set<String> seen;
      rule.change().run();
      try {
        seen = await(row, rule.roles());
      } finally {
        rule.undo().run();
      }
      Set<String> left = await(row, Set.of());
      boolean isRight = seen.equals(rule.roles()) && left.isEmpty();
      all &= isRight;
      System.out.printf(
          "%s: %s: wrong %s as %s%s%n",
          isRight ? "found" : "NOT FOUND",
          rule.title(),
          row.name(),
          seen,
          left.isEmpty() ? "" : ", and still wrong as " + left + " after the rule was reverted");
    }
    return all;
  }

  private List<Rule> rules() {
    List<Rule> rules = new ArrayList<>();
    rules.add(
        redisRule(
            "may no longer load functions",
            "control",
            "-function|load",
            "+function|load",
            "redis:6379 load-function"));
    rules.add(redisRule("may ping", "job", "+ping", "-ping", "redis:6379 ping"));
    AclBinding ownAlerts = right(jobUser(), AclOperation.WRITE, cluster.ownAlerts());
    rules.add(
        new Rule(
            "Kafka: the job may no longer write its alerts",
            () -> revoke(ownAlerts),
            () -> grant(ownAlerts),
            "kafka:9094 write-own-alerts",
            Set.of("job")));
    KafkaProbes kafka = new KafkaProbes(cluster);
    AclBinding otherTuples = right(jobUser(), AclOperation.READ, kafka.other(KafkaProbes.JOBS));
    rules.add(
        new Rule(
            "Kafka: the job may read another query's tuples",
            () -> grant(otherTuples),
            () -> revoke(otherTuples),
            "kafka:9094 read-other-tuples",
            Set.of("job")));
    AclBinding unserved =
        right(cluster.monitor(), AclOperation.WRITE, kafka.other(KafkaProbes.CLIENTS));
    rules.add(
        new Rule(
            "Kafka: the monitor may write tuples of a query that it does not serve",
            () -> grant(unserved),
            () -> revoke(unserved),
            "kafka:9092 write-other-tuples",
            Set.of("monitor")));
    List<ACL> own = new ArrayList<>();
    rules.add(
        new Rule(
            "ZooKeeper: all clients may read /tapline",
            () -> openToReaders(own),
            () -> setRights(own),
            "zookeeper:2281 read-tapline",
            Set.of("zookeeper", "flink", "job")));
    rules.add(
        new Rule(
            "ZooKeeper: the control plane may no longer create nodes in /tapline",
            this::closeToCreators,
            () -> setRights(own),
            "zookeeper:2281 write-tapline",
            Set.of("control")));
    return rules;
  }

  private Rule redisRule(String title, String role, String change, String undo, String row) {
    String user = role.equals("job") ? jobUser() : role;
    return new Rule(
        "Redis: user " + user + " " + title,
        () -> setUser(user, change),
        () -> setUser(user, undo),
        row,
        Set.of(role));
  }

  private String jobUser() {
    return components.get("job").redis().user();
  }

  /**
   * Returns the roles whose cells in the row are wrong. Repeats the attempts, for a limited time,
   * until these are the expected roles.
   */
  private Set<String> await(Row row, Set<String> expected) {
    long deadline = System.nanoTime() + TIMEOUT_NS;
    while (true) {
      Set<String> seen = new TreeSet<>();
      for (String role : table.roles()) {
        Outcome outcome = attempts.attempt(row, components.get(role)).outcome();
        if (outcome != (row.allowed().get(role) ? Outcome.DONE : Outcome.REFUSED)) {
          seen.add(role);
        }
      }
      if (seen.equals(expected) || System.nanoTime() > deadline) {
        return seen;
      }
    }
  }

  private void setUser(String user, String rule) throws Exception {
    try (Jedis redis = RedisProbes.connect(control, REDIS)) {
      redis.aclSetUser(user, rule);
    }
  }

  private static AclBinding right(String user, AclOperation operation, String topic) {
    return new AclBinding(
        new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
        new AccessControlEntry("User:" + user, "*", operation, AclPermissionType.ALLOW));
  }

  private void grant(AclBinding right) throws Exception {
    try (Admin admin = KafkaProbes.admin(control)) {
      admin.createAcls(List.of(right)).all().get();
    }
  }

  private void revoke(AclBinding right) throws Exception {
    try (Admin admin = KafkaProbes.admin(control)) {
      admin.deleteAcls(List.of(right.toFilter())).all().get();
    }
  }

  /**
   * Lets all clients read /tapline.
   *
   * @param previousAcls receives the node's previous ACLs
   */
  private void openToReaders(List<ACL> previousAcls) throws Exception {
    ZooKeeperProbes.use(
        control,
        ZOOKEEPER,
        session -> {
          previousAcls.addAll(session.getACL("/tapline", null));
          List<ACL> openACLs = new ArrayList<>(previousAcls);
          openACLs.add(new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
          session.setACL("/tapline", openACLs, -1);
        });
  }

  private void closeToCreators() throws Exception {
    ZooKeeperProbes.use(
        control,
        ZOOKEEPER,
        session -> {
          List<ACL> closedACLs = new ArrayList<>();
          for (ACL right : session.getACL("/tapline", null)) {
            closedACLs.add(new ACL(right.getPerms() & ~Perms.CREATE, right.getId()));
          }
          session.setACL("/tapline", closedACLs, -1);
        });
  }

  private void setRights(List<ACL> rights) throws Exception {
    ZooKeeperProbes.use(control, ZOOKEEPER, session -> session.setACL("/tapline", rights, -1));
  }
}
