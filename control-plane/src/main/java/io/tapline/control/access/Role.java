package io.tapline.control.access;

/** What the holder of a token may do; each may do what those before it may. */
public enum Role {
  /** Read the tenant's queries, their results and alerts. */
  VIEWER,
  /** Start and end queries and watches, and ask hosts for headers: within the tenant's subnets. */
  ANALYST,
  /** Everything, of all tenants: nodes, metrics, diagnosis as well. */
  ADMIN;

  /** The name in files and messages. */
  public String label() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  /** Whether it is this one or above. */
  public boolean mayActAs(Role needed) {
    return compareTo(needed) >= 0;
  }
}
