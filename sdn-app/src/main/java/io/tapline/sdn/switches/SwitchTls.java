package io.tapline.sdn.switches;

import javax.net.ssl.SSLContext;

/**
 * How switches are spoken to over TLS.
 *
 * @param context with the authorities that sign switches' certificates
 * @param anyDatapath whether a certificate that names no datapath ID may speak for each; others are
 *     refused
 */
public record SwitchTls(SSLContext context, boolean anyDatapath) {}
