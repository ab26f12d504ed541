terraform import gantry_network_acl.example 'web'
