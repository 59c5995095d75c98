package io.tapline.control.registry;

import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Settings of a registry.
 *
 * @param address to listen on; port 0 takes a free one
 * @param term of this control plane: above that of every one before
 * @param brokers of Kafka, as hosts reach them
 * @param hashKey of the flow hash: 32 hexadecimal digits, one for the deployment
 * @param probe how often agents are asked for a sign of life
 * @param lease without one for so long, an agent is lost
 * @param away how long a host is without a lease before another may go on in its place
 * @param grace how long what a lost agent was assigned waits for it, and agents for a control
 *     plane; less than 25 days
 */
public record RegistryOptions(
    InetSocketAddress address,
    long term,
    String brokers,
    String hashKey,
    Duration probe,
    Duration lease,
    Duration away,
    Duration grace) {
  public static final String USUAL_HASH_KEY = "0".repeat(32);

  /**
   * Probes twice a second, a lease of three seconds, three more before another host goes on, twenty
   * seconds of grace.
   */
  public static RegistryOptions usual(InetSocketAddress address, String brokers) {
    return new RegistryOptions(
        address,
        System.currentTimeMillis(),
        brokers,
        USUAL_HASH_KEY,
        Duration.ofMillis(500),
        Duration.ofSeconds(3),
        Duration.ofSeconds(3),
        Duration.ofSeconds(20));
  }

  /** The same with another grace period. */
  public RegistryOptions withGrace(Duration newGrace) {
    return new RegistryOptions(address, term, brokers, hashKey, probe, lease, away, newGrace);
  }

  /** The same of another term. */
  RegistryOptions withTerm(long newTerm) {
    return new RegistryOptions(address, newTerm, brokers, hashKey, probe, lease, away, grace);
  }
}
