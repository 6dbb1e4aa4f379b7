-- _pci_configuration: configuration of a PCI function, with the times from and until which it applies.
SELECT
    *,
    lead(tod) OVER (PARTITION BY system, source, function ORDER BY tod) AS until
FROM role.pci_configuration
