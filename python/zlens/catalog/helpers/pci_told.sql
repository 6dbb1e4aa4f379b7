-- _pci_told: what was told of a PCI function, from which time until which.
SELECT
    *,
    lead(tod) OVER (PARTITION BY system, source, function ORDER BY tod) AS until
FROM role.pci_configuration
