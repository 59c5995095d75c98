/**
 * Who may do what: tokens with roles and subnets, kept as hashes in a file.
 *
 * <pre>
 * tokens.yaml ─▶ TokenFile ─▶ Tokens ─▶ Token = tenant, Role, Rights
 * </pre>
 */
package io.tapline.control.access;
