output "bytes" {
  value = provider::gantry::parse_size("2GiB")
}
