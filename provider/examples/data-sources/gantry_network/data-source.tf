data "gantry_network" "lan" {
  name = "lan0"
}
