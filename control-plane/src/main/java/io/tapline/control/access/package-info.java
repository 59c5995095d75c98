/**
 * Access control: tokens with roles and subnets, stored as hashes in a file.
 *
 * <pre>
 * tokens.yaml ─▶ TokenFile ─▶ Tokens ─▶ Token = tenant, Role, Rights
 * </pre>
 */
package io.tapline.control.access;
