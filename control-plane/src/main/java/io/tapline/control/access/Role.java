package io.tapline.control.access;

/** The role of a token's holder. Each role includes the rights of those before it. */
public enum Role {
  /** May read the tenant's queries and watches, their results and alerts. */
  VIEWER,
  /**
   * May start and end queries and watches, and query hosts' headers, within the token's subnets.
   */
  ANALYST,
  /** May do everything, for all tenants, including nodes, metrics and diagnosis. */
  ADMIN;

  /** Returns the role's name in token files and messages. */
  public String label() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  /** Returns true if this role includes the needed one. */
  public boolean mayActAs(Role needed) {
    return compareTo(needed) >= 0;
  }
}
