package io.tapline.control.diagnose;

import java.util.List;

/**
 * The bursts that filled a queue, with their causes.
 *
 * @param queue SWITCH:PORT, as its taps name it
 * @param queries the queries that measured it
 * @param bursts the latest bursts, in time order
 * @param incomplete true if there may have been more bursts than are reported
 * @param completeSinceNs if incomplete, bursts that ended before this time may be missing;
 *     otherwise 0
 * @param verdict the finding, as sentences
 */
public record QueueReport(
    String queue,
    List<String> queries,
    List<Burst> bursts,
    boolean incomplete,
    long completeSinceNs,
    List<String> verdict) {

  /**
   * A period in which the queue was never empty and packets waited too long.
   *
   * @param endNs time at which the last packet left, since the epoch like {@code beginNs}
   * @param delayNs longest wait of a packet
   * @param peakBytes maximum bytes in the queue
   * @param packets packets that left
   * @param bytes bytes of these packets
   * @param victims packets that waited for the query's delay or longer
   * @param flows number of flows with packets in the burst
   * @param lost packets that arrived and never left
   * @param culprits the flows with the largest shares of the bytes that victims found in the queue,
   *     largest first
   * @param victimFlows the flows that waited longest although they filled little of the queue, in
   *     order of their waits
   * @param filter drill-down filter for the packets of the main culprits and of these victims
   */
  public record Burst(
      long beginNs,
      long endNs,
      long delayNs,
      long peakBytes,
      long packets,
      long bytes,
      long victims,
      long flows,
      long lost,
      List<Culprit> culprits,
      List<Victim> victimFlows,
      String filter) {}

  /**
   * A flow that waited for others.
   *
   * @param source ADDRESS:PORT; if the query's argument {@code flow} is {@code pair}, an address,
   *     and for {@code destination} an asterisk
   * @param destination ADDRESS:PORT, or an address
   * @param packets its packets that waited for the query's delay or longer
   * @param delayNs longest wait of its packets
   * @param waitedNs sum of the waits of its packets
   */
  public record Victim(
      String source, String destination, long packets, long delayNs, long waitedNs) {
    /** Returns the flow in user-facing notation. */
    String flow() {
      return source + " > " + destination;
    }
  }

  /**
   * A flow that made others wait. Bytes are averages over the victims.
   *
   * @param source as in {@link Victim}
   * @param destination as in {@link Victim}
   * @param share its share of the bytes that victims found in the queue
   * @param directBytes its bytes that left while a victim waited
   * @param indirectBytes its bytes that left in the burst before a victim arrived
   * @param originalBytes bytes that it contributed to the depth of the queue that a victim found
   * @param blamedNs total wait of all packets, including its own, while one of its packets was
   *     sent; 0 in reports of monitors that do not measure it
   */
  public record Culprit(
      String source,
      String destination,
      double share,
      long directBytes,
      long indirectBytes,
      long originalBytes,
      long blamedNs) {
    /** Returns the flow in user-facing notation. */
    String flow() {
      return source + " > " + destination;
    }

    /** Returns the address of the destination, without its port. */
    String receiver() {
      int colon = destination.lastIndexOf(':');
      return colon < 0 || destination.endsWith("]") ? destination : destination.substring(0, colon);
    }

    /** Returns true if the flow consists of the packets from all sources to its destination. */
    boolean isFromAll() {
      return source.equals(FlowUnit.ANY);
    }
  }
}
