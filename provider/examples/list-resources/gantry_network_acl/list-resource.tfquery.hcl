list "gantry_network_acl" "all" {
  provider = gantry
}
