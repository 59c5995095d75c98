package io.tapline.flink.support;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;

/** A folder formatted for a single-node KRaft broker on loopback, and the settings to run it. */
final class BrokerFolder {
  final String brokers = "127.0.0.1:" + FreePort.choose();
  final Map<String, String> settings = new TreeMap<>();

  BrokerFolder(Path directory) throws Exception {
    String controller = "127.0.0.1:" + FreePort.choose();
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", "1");
    settings.put("controller.quorum.voters", "1@" + controller);
    settings.put("listeners", "PLAINTEXT://" + brokers + ",CONTROLLER://" + controller);
    settings.put("advertised.listeners", "PLAINTEXT://" + brokers);
    settings.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
    settings.put("controller.listener.names", "CONTROLLER");
    settings.put("log.dirs", directory.toString());
    settings.put("auto.create.topics.enable", "false");
    settings.put("offsets.topic.replication.factor", "1");
    settings.put("transaction.state.log.replication.factor", "1");
    settings.put("transaction.state.log.min.isr", "1");
    new Formatter()
        .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
        .setNodeId(1)
        .setClusterId(Uuid.randomUuid().toString())
        .setDirectories(List.of(directory.toString()))
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(directory.toString())
        .run();
  }
}
