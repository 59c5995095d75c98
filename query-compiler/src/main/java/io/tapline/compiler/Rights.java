package io.tapline.compiler;

/**
 * Who asks, and what he may look at.
 *
 * @param tenant begins the identifiers of his queries; {@link #NOBODY} where nobody is told apart
 * @param networkWide whether queries may name no host or network
 * @param scope one end of each connection that a query matches is within
 */
public record Rights(String tenant, boolean networkWide, Scope scope) {
  /** The tenant of those who need no token. */
  public static final String NOBODY = "q";

  static final String TENANT = "[a-z][a-z0-9]{0,31}";

  /** All there are. */
  public static final Rights ALL = new Rights(NOBODY, true, Scope.EVERYTHING);

  public Rights {
    if (!tenant.matches(TENANT)) {
      throw new IllegalArgumentException("tenant must match " + TENANT + ": " + tenant);
    }
  }

  /** Whether a query is this tenant's. */
  public boolean owns(String query) {
    return query.startsWith(tenant + "-");
  }
}
