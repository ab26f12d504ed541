resource "gantry_network" "lan" {
  name = "lan0"
  config = {
    "ipv4.address" = "10.20.0.1/24"
    "ipv4.nat"     = "true"
    "ipv6.address" = "none"
  }
}
