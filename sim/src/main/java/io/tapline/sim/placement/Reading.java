package io.tapline.sim.placement;

/**
 * Interpretations of the paper's contradictory figures. The paper gives 1,024 hosts with 2,000 to
 * 20,000 flows each, which is 11 million flows, but states that there are about one million. Also,
 * 1.2 Tb/s over a million flows is 1.2 Mb/s each, so that a 10 Gb/s monitor takes 8,000 flows; but
 * the paper states that a monitor takes more than 100,000 flows of 10 KB.
 */
public enum Reading {
  /**
   * One million flows, 1.2 Tb/s in total; a host's share is proportional to a random number from
   * 2,000 to 20,000.
   */
  TOTALS("totals"),
  /** 2,000 to 20,000 flows per host with 10 KB per second each: 11 million flows, 0.9 Tb/s. */
  PER_HOST("per-host");

  /** The name in tables and files. */
  public final String label;

  Reading(String label) {
    this.label = label;
  }
}
