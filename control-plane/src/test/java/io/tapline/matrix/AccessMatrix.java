package io.tapline.matrix;

import io.tapline.control.JobKey;
import io.tapline.flink.Login;
import io.tapline.matrix.AccessTable.Row;
import io.tapline.matrix.Attempts.Attempt;
import io.tapline.matrix.Attempts.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tries every operation of the access table as every role, with that role's secrets, on the
 * services of a running cluster, and compares the outcomes with the table. Service names must
 * resolve ({@code -Djdk.net.hosts.file}).
 *
 * <p>If a port does not admit a role's certificate, the role's operations on this port count as
 * refused. Prints the matrix. If all cells of all roles are right, {@link ChangedRules} changes
 * rules of the services and requires that the matrix shows each change. The exit code is 1 if a
 * cell differs from the table, if a probe failed for a reason other than a refusal, or if a change
 * was not found.
 */
public final class AccessMatrix {
  private static final int ARGUMENTS = 9;

  /** Names of secrets folders by role, if they differ from the role's name. */
  private static final Map<String, String> FOLDERS =
      Map.of("monitor", "monitor-1", "multilog", "web-1", "job", "flink");

  private final AccessTable table;
  private final Attempts attempts;
  private final Map<String, Component> components;

  /** True in a component's container, from which some services are unreachable. */
  private final boolean inside;

  private final List<String> wrong = new ArrayList<>();

  private AccessMatrix(
      AccessTable table, Attempts attempts, Map<String, Component> components, boolean inside) {
    this.table = table;
    this.attempts = attempts;
    this.components = components;
    this.inside = inside;
  }

  /**
   * Runs all probes. If the tenant's query is "", only creates the topics that the probes need.
   *
   * @param args table, folder of secrets, leader, the tenant's query (or ""), another tenant's
   *     query, the alert topics of both, the hosts of the monitor and of the MultiLog node and,
   *     inside a component's container, the only role to try
   */
  public static void main(String[] args) throws Exception {
    Path secrets = Path.of(args[1]);
    Cluster cluster = new Cluster(args[2], args[3], args[4], args[5], args[6], args[7], args[8]);
    boolean inside = args.length > ARGUMENTS;
    AccessTable table = AccessTable.read(Path.of(args[0]));
    if (inside) {
      table = table.only(args[ARGUMENTS]);
    }
    Map<String, Component> components = new HashMap<>();
    for (String role : table.roles()) {
      components.put(role, component(role, secrets, cluster));
    }
    if (cluster.own().isEmpty()) {
      new KafkaProbes(cluster).prepare(components.get("control"));
      return;
    }
    Attempts attempts = new Attempts(cluster);
    boolean isRight = new AccessMatrix(table, attempts, components, inside).run();
    if (isRight && !inside) {
      isRight = new ChangedRules(cluster, table, attempts, components).areFound();
    }
    System.exit(isRight ? 0 : 1);
  }

  private static Component component(String role, Path secrets, Cluster cluster)
      throws IOException {
    Path folder = secrets.resolve(FOLDERS.getOrDefault(role, role));
    if (!Files.isDirectory(folder)) {
      Files.createDirectories(folder);
    }
    Path own = secrets.resolve("control");
    Login kafka = Login.NONE;
    Login redis = Login.NONE;
    if (role.equals("control")) {
      redis = new Login("control", Files.readString(own.resolve("redis.password")).strip());
    } else if (role.equals("redis")) {
      redis = new Login("health", "any");
    } else if (role.equals("job")) {
      JobKey key = JobKey.read(own.resolve("job.key"));
      kafka = new Login("job-" + cluster.own(), key.password("kafka", cluster.own()));
      redis = new Login("job-" + cluster.own(), key.password("redis", cluster.own()));
    }
    return new Component(role, folder, secrets.resolve("authorities.pem"), kafka, redis);
  }

  private boolean run() {
    System.out.printf("%-30s %s%n", "", String.join(" ", table.roles()));
    for (Row row : table.rows()) {
      StringBuilder line = new StringBuilder();
      for (String role : table.roles()) {
        line.append(" ".repeat(role.length() / 2)).append(cell(row, role));
        line.append(" ".repeat(role.length() - role.length() / 2));
      }
      System.out.printf("%-30s %s%n", row.name(), line.toString().stripTrailing());
    }
    int cells = table.rows().size() * table.roles().size();
    System.out.printf("%d of %d cells match the table%n", cells - wrong.size(), cells);
    wrong.forEach(System.out::println);
    return wrong.isEmpty();
  }

  private char cell(Row row, String role) {
    Attempt attempt = attempts.attempt(row, components.get(role));
    Outcome outcome = attempt.outcome();
    boolean isRight =
        outcome == (row.allowed().get(role) ? Outcome.DONE : Outcome.REFUSED)
            || (inside && outcome == Outcome.UNREACHABLE);
    if (!isRight) {
      wrong.add(
          "wrong: %s as %s is %s instead of %s: %s"
              .formatted(
                  row.name(),
                  role,
                  outcome.cell,
                  row.allowed().get(role) ? "x" : "-",
                  attempt.reason()));
    }
    return outcome.cell;
  }
}
