data "gantry_network_leases" "lan" {
  network = "lan0"
}
