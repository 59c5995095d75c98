package io.tapline.sdn.switches;

import javax.net.ssl.SSLContext;

/**
 * TLS settings for connections of switches.
 *
 * @param context context with the authorities that sign switches' certificates
 * @param anyDatapath true if a certificate without a datapath ID is valid for any; otherwise it is
 *     refused
 */
public record SwitchTls(SSLContext context, boolean anyDatapath) {}
