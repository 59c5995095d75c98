package io.tapline.compiler.access;

/**
 * The caller's tenant and the part of the network that it may see.
 *
 * @param tenant prefix of the caller's query IDs; "q" if callers are not distinguished
 * @param networkWide whether queries need not name any host or network
 * @param scope addresses that must contain one end of each connection that a query matches
 */
public record Rights(String tenant, boolean networkWide, Scope scope) {
  /** The tenant of callers that need no token. */
  public static final String DEFAULT_TENANT = "q";

  static final String TENANT = "[a-z][a-z0-9]{0,31}";

  /** All rights. */
  public static final Rights ALL = new Rights(DEFAULT_TENANT, true, Scope.EVERYTHING);

  public Rights {
    if (!tenant.matches(TENANT)) {
      throw new IllegalArgumentException("tenant must match " + TENANT + ": " + tenant);
    }
  }

  /** Returns true if a query belongs to this tenant. */
  public boolean owns(String query) {
    return query.startsWith(tenant + "-");
  }
}
