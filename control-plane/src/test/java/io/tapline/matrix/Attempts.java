package io.tapline.matrix;

import io.tapline.matrix.AccessTable.Row;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.Map;

/** Tries operations of the access table and returns the outcomes. */
final class Attempts {
  private static final int SWITCHES = 6653;
  private static final int REST = 8480;

  /** The outcome of an attempt, with its character in the printed matrix. */
  enum Outcome {
    DONE('x'),
    REFUSED('-'),
    /** The service's name does not resolve, or its address is unreachable. */
    UNREACHABLE('.'),
    /** The probe failed for a reason other than a refusal. */
    BROKEN('?');

    final char cell;

    Outcome(char cell) {
      this.cell = cell;
    }
  }

  /**
   * One attempt.
   *
   * @param reason error message of the service or the probe; empty if the operation succeeded
   */
  record Attempt(Outcome outcome, String reason) {}

  private final Cluster cluster;
  private final Map<String, Attempt> doors = new HashMap<>();

  Attempts(Cluster cluster) {
    this.cluster = cluster;
  }

  /**
   * Tries an operation as a component. If the port did not admit the component's certificate,
   * returns the outcome of "connect" instead, which precedes the port's other operations in the
   * table.
   */
  Attempt attempt(Row row, Component client) {
    String door = row.service() + ":" + row.port() + " " + client.role();
    if (row.isConnect()) {
      Attempt connected = attempt(() -> connect(row, client));
      doors.put(door, connected);
      return connected;
    }
    Attempt connected = doors.get(door);
    return connected == null || connected.outcome() == Outcome.DONE
        ? attempt(() -> operate(row, client))
        : connected;
  }

  private interface Probe {
    void run() throws Exception;
  }

  private static Attempt attempt(Probe probe) {
    try {
      probe.run();
      return new Attempt(Outcome.DONE, "");
    } catch (Refused e) {
      return new Attempt(Outcome.REFUSED, e.getMessage());
    } catch (UnknownHostException
        | ConnectException
        | NoRouteToHostException
        | SocketTimeoutException e) {
      return new Attempt(Outcome.UNREACHABLE, e.toString());
    } catch (Exception e) {
      return new Attempt(Outcome.BROKEN, e.toString());
    }
  }

  private void connect(Row row, Component client) throws Exception {
    boolean internal = row.service().equals("flink") && row.port() != 8081;
    TlsConnector.connect(
        host(row.service()), row.port(), internal ? client.internalTls() : client.tls());
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
