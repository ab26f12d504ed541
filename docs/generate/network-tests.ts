// The test that shows each config key of a network and each property of a nic. The pages of both tables name it, and a test compares it
// with the schemas.

const decisions = 'server/drivers/network/decisions.test.ts';
const acls = 'server/drivers/network/acl-host.test.ts';
const aclRules = 'server/drivers/network/acl-rules.test.ts';
const onHost = 'server/drivers/network/bridge-host.test.ts';
const tunnels = 'server/drivers/network/bridge-tunnels.test.ts';
const suite = 'conformance/network.ts';

/** Keys: those of docs/keys/network.md. */
export const networkKeyTests: Readonly<Record<string, string>> = {
  'maas.subnet.ipv4': 'server/services/maas.test.ts',
  'maas.subnet.ipv6': 'server/services/maas.test.ts',
  'bridge.driver': 'server/drivers/network/openvswitch.test.ts',
  'bridge.external_interfaces': onHost,
  'bridge.hwaddr': suite,
  'bridge.mode': suite,
  'bridge.mtu': suite,
  'dns.domain': decisions,
  'dns.mode': suite,
  'dns.search': onHost,
  'fan.overlay_subnet': decisions,
  'fan.type': decisions,
  'fan.underlay_subnet': decisions,
  'ipv4.address': suite,
  'ipv4.dhcp': suite,
  'ipv4.dhcp.expiry': decisions,
  'ipv4.dhcp.gateway': onHost,
  'ipv4.dhcp.ranges': suite,
  'ipv4.firewall': decisions,
  'ipv4.nat': onHost,
  'ipv4.nat.address': onHost,
  'ipv4.nat.order': onHost,
  'ipv4.routes': onHost,
  'ipv4.routing': onHost,
  'ipv6.address': suite,
  'ipv6.dhcp': decisions,
  'ipv6.dhcp.expiry': decisions,
  'ipv6.dhcp.ranges': decisions,
  'ipv6.dhcp.stateful': onHost,
  'ipv6.firewall': decisions,
  'ipv6.nat': onHost,
  'ipv6.nat.address': onHost,
  'ipv6.nat.order': decisions,
  'ipv6.routes': decisions,
  'ipv6.routing': decisions,
  'raw.dnsmasq': 'server/drivers/network/bridge-damage.test.ts',
  'security.acls': acls,
  'security.acls.default.egress.action': acls,
  'security.acls.default.egress.logged': aclRules,
  'security.acls.default.ingress.action': acls,
  'security.acls.default.ingress.logged': aclRules,
  'tunnel.NAME.group': tunnels,
  'tunnel.NAME.id': tunnels,
  'tunnel.NAME.interface': tunnels,
  'tunnel.NAME.local': tunnels,
  'tunnel.NAME.port': decisions,
  'tunnel.NAME.protocol': tunnels,
  'tunnel.NAME.remote': tunnels,
  'tunnel.NAME.ttl': tunnels,
  'user.*': 'server/services/networks.test.ts',
};

const hostDevices = 'server/drivers/devices/host-devices.test.ts';
const filters = 'server/drivers/runtime/nic-filters.test.ts';
const routed = 'server/drivers/devices/routed-nics.test.ts';
const contract = 'contract/devices.test.ts';
const running = 'server/drivers/devices/running-devices.test.ts';

/** Keys: the properties in docs/devices/nic.md. */
export const nicPropertyTests: Readonly<Record<string, string>> = {
  hwaddr: hostDevices,
  host_name: hostDevices,
  'ipv4.address': 'server/services/networks.test.ts',
  'boot.priority': contract,
  'ipv4.gateway': contract,
  'ipv4.host_address': routed,
  'ipv4.host_table': routed,
  'ipv4.neighbor_probe': routed,
  'ipv4.routes.external': contract,
  'ipv4.routes': 'server/drivers/devices/served-keys.test.ts',
  'ipv6.address': 'server/services/networks.test.ts',
  'ipv6.gateway': routed,
  'ipv6.host_address': contract,
  'ipv6.host_table': contract,
  'ipv6.neighbor_probe': contract,
  'ipv6.routes.external': contract,
  'ipv6.routes': 'server/drivers/devices/served-keys.test.ts',
  'limits.egress': running,
  'limits.ingress': running,
  'limits.max': 'server/drivers/devices/plan.test.ts',
  'maas.subnet.ipv4': 'server/services/maas.test.ts',
  'maas.subnet.ipv6': 'server/services/maas.test.ts',
  mode: routed,
  mtu: 'server/drivers/devices/plan.test.ts',
  name: hostDevices,
  network: 'server/drivers/network/openvswitch.test.ts',
  nictype: hostDevices,
  parent: hostDevices,
  'security.ipv4_filtering': filters,
  'security.ipv6_filtering': filters,
  'security.mac_filtering': running,
  'security.port_isolation': filters,
  vlan: hostDevices,
};
