package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A record of everything that a testbed creates. It is written in advance, so that {@code down}
 * knows what belongs to the testbed even if {@code up} fails.
 *
 * @param queuePackets length of a port's queue in packets; 0 for the default
 * @param memif true if mirror ports are DPDK's memif ports
 * @param polled names of the switches whose ports are polled; none in states of earlier versions
 * @param collector null if no namespace collects copies
 * @param devices devices in addition to those in its plan
 * @param complete true if everything was created
 * @param ownController true if it runs a controller
 * @param agents the programs in hosts
 * @param kernel the host's original kernel settings, by file
 */
public record TestbedState(
    String name,
    int k,
    int linkMbit,
    int queuePackets,
    boolean memif,
    List<String> polled,
    Collector collector,
    int openFlowPort,
    boolean ownController,
    Agents agents,
    boolean complete,
    List<String> devices,
    Map<String, String> kernel) {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String FILE = "testbed.json";

  public TestbedState {
    polled = polled == null ? List.of() : polled;
  }

  FatTreePlan plan() {
    return new FatTreePlan(name, k, linkMbit, queuePackets, memif, polled, collector);
  }

  /** Returns the address at which hosts reach a control plane on this host. */
  public String controlAddress() {
    return plan().controlAddress();
  }

  /** Returns true if another state was requested with the same parameters. */
  boolean wants(TestbedState otherState) {
    return plan().equals(otherState.plan())
        && openFlowPort == otherState.openFlowPort
        && ownController == otherState.ownController
        && agents.equals(otherState.agents);
  }

  TestbedState completed() {
    return new TestbedState(
        name,
        k,
        linkMbit,
        queuePackets,
        memif,
        polled,
        collector,
        openFlowPort,
        ownController,
        agents,
        true,
        devices,
        kernel);
  }

  void write(Path folder) throws TestbedException {
    Path newFile = folder.resolve(FILE + ".new");
    try {
      Files.writeString(newFile, MAPPER.writeValueAsString(this) + "\n");
      Files.move(newFile, folder.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new TestbedException("can't write " + folder.resolve(FILE), e);
    }
  }

  static Optional<TestbedState> read(Path folder) throws TestbedException {
    Path file = folder.resolve(FILE);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    try {
      return Optional.of(MAPPER.readValue(file.toFile(), TestbedState.class));
    } catch (IOException e) {
      throw new TestbedException("can't read " + file + ": " + e.getMessage(), e);
    }
  }
}
