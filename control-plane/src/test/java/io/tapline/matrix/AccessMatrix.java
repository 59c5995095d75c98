package io.tapline.matrix;

import io.tapline.control.JobKey;
import io.tapline.flink.Login;
import io.tapline.matrix.AccessTable.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tries every operation of the access table as every role, with that role's own secrets, at the
 * services of a cluster that is up, and compares what happens with the table. Names of services
 * must resolve ({@code -Djdk.net.hosts.file}).
 *
 * <p>Where a port does not admit a role's certificate, its operations there count as refused.
 * Prints the matrix; exit code 1 if a cell is not as the table says, or a probe failed otherwise
 * than by a refusal.
 */
public final class AccessMatrix {
  private static final int SWITCHES = 6653;
  private static final int REST = 8480;

  /** Where a role's secrets are; else in a folder of its own name. */
  private static final Map<String, String> FOLDERS =
      Map.of("monitor", "monitor-1", "multilog", "web-1", "job", "flink");

  private final Cluster cluster;
  private final AccessTable table;
  private final Map<String, Component> components;
  private final Map<String, Boolean> admitted = new HashMap<>();
  private final List<String> wrong = new ArrayList<>();

  private AccessMatrix(Cluster cluster, AccessTable table, Map<String, Component> components) {
    this.cluster = cluster;
    this.table = table;
    this.components = components;
  }

  /**
   * Runs all probes; where the own query is empty, makes the topics that they need.
   *
   * @param args table, folder of secrets, leader, own query, other query, topic of the own query's
   *     alerts, of the other's, host of the monitor, of the MultiLog node
   */
  public static void main(String[] args) throws Exception {
    Path secrets = Path.of(args[1]);
    Cluster cluster = new Cluster(args[2], args[3], args[4], args[5], args[6], args[7], args[8]);
    AccessTable table = AccessTable.read(Path.of(args[0]));
    Map<String, Component> components = new HashMap<>();
    for (String role : table.roles()) {
      components.put(role, component(role, secrets, cluster));
    }
    if (cluster.own().isEmpty()) {
      new KafkaProbes(cluster).prepare(components.get("control"));
    } else {
      System.exit(new AccessMatrix(cluster, table, components).run() ? 0 : 1);
    }
  }

  private static Component component(String role, Path secrets, Cluster cluster)
      throws IOException {
    Path folder = secrets.resolve(FOLDERS.getOrDefault(role, role));
    Files.createDirectories(folder);
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
        String cell = outcome(row, role);
        line.append(" ".repeat(role.length() / 2)).append(cell);
        line.append(" ".repeat(role.length() - role.length() / 2));
      }
      System.out.printf("%-30s %s%n", row.name(), line.toString().stripTrailing());
    }
    int cells = table.rows().size() * table.roles().size();
    System.out.printf("%d of %d cells are as the table says%n", cells - wrong.size(), cells);
    wrong.forEach(System.out::println);
    return wrong.isEmpty();
  }

  private String outcome(Row row, String role) {
    boolean expected = row.allowed().get(role);
    String cell;
    String why = "";
    try {
      attempt(row, components.get(role));
      cell = "x";
    } catch (Refused e) {
      cell = "-";
      why = e.getMessage();
    } catch (Exception e) {
      cell = "?";
      why = e.toString();
    }
    if (!cell.equals(expected ? "x" : "-")) {
      wrong.add(
          "wrong: %s as %s is %s, and should be %s %s"
              .formatted(row.name(), role, cell, expected ? "x" : "-", why));
    }
    return cell;
  }

  private void attempt(Row row, Component client) throws Exception {
    String door = row.service() + ":" + row.port() + " " + client.role();
    if (row.isConnect()) {
      admitted.put(door, false);
      connect(row, client);
      admitted.put(door, true);
    } else if (!admitted.getOrDefault(door, true)) {
      throw new Refused("the port does not admit it");
    } else {
      operate(row, client);
    }
  }

  private void connect(Row row, Component client) throws Exception {
    boolean internal = row.service().equals("flink") && row.port() != 8081;
    Doors.connect(host(row.service()), row.port(), internal ? client.internalTls() : client.tls());
  }

  private String host(String service) {
    return switch (service) {
      case "control" -> cluster.leader();
      case "flink" -> "jobmanager-1";
      case "multilog" -> cluster.multilog();
      case "monitor" -> cluster.monitor();
      case "redis" -> "redis";
      default -> service + "-1";
    };
  }

  private void operate(Row row, Component client) throws Exception {
    String operation = row.operation();
    if (operation.equals("metrics") || row.port() == REST || row.service().equals("flink")) {
      new HttpProbes(cluster).run(operation, row.service(), client, row.port());
    } else if (row.service().equals("kafka")) {
      new KafkaProbes(cluster).run(operation, client, row.port());
    } else if (row.service().equals("redis")) {
      new RedisProbes(cluster).run(operation, client, row.port());
    } else if (row.service().equals("zookeeper")) {
      new ZooKeeperProbes().run(operation, client, row.port());
    } else if (row.port() == SWITCHES) {
      new OpenFlowProbes(cluster).run(operation, client, row.port());
    } else {
      new HostProbes(cluster).run(operation, client, row.port());
    }
  }
}
