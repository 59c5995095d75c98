package io.tapline.control.query;

/**
 * How far a query has advanced, for the control plane that resumes it. Each step may be repeated.
 *
 * <pre>
 * SUBMITTED ─▶ PLACED ─▶ MIRRORING ─▶ RUNNING ─▶ ENDING ─▶ no record
 *     topic, job   monitors     rules         …       rules, monitors, job, topic go
 * </pre>
 */
public enum QueryStep {
  /** Accepted: its parts are chosen; nothing else has to exist. */
  SUBMITTED,
  /** Its topic and its job exist; monitors are being assigned. */
  PLACED,
  /** Its monitors capture; switches are being programmed. */
  MIRRORING,
  /** Its packets are seen. */
  RUNNING,
  /** Its end is recorded; what it used is being cleaned up. */
  ENDING
}
