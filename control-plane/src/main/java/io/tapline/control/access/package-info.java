/**
 * Access control: tokens with roles and subnets, stored as hashes in a file.
 *
 * <pre>
 * tokens.yaml ─▶ TokenFile ─▶ Tokens ─▶ Token = Role, Rights, Quota
 * </pre>
 */
package io.tapline.control.access;
