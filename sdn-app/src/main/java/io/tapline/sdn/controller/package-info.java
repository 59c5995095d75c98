/** The controller: keeps what is known of a network, and its switches as they should be. */
package io.tapline.sdn.controller;
