package io.tapline.control.query;

/**
 * How far a query has been brought, for whoever goes on with it. Each step may be done again.
 *
 * <pre>
 * SUBMITTED ─▶ PLACED ─▶ MIRRORING ─▶ RUNNING ─▶ ENDING ─▶ no record
 *     topic, job   monitors     rules         …       rules, monitors, job, topic go
 * </pre>
 */
public enum QueryStep {
  /** Accepted: its parts are chosen, nothing else need be there. */
  SUBMITTED,
  /** Its topic and its job are there; monitors are being told. */
  PLACED,
  /** Its monitors watch; switches are being told. */
  MIRRORING,
  /** Its packets are seen. */
  RUNNING,
  /** How it ended is known; what it used is being cleaned up. */
  ENDING
}
